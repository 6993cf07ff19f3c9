"""The vocabularies of the benchmarks, as each library wants them.

From the artifacts beside the repository: what a `tokenizer.json` stores of padding and truncation
is taken out, and the rank tables of cl100k and o200k are also written as a `tokenizer.json`, with
the merges that the ranks imply, since most libraries read nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.texts import SHARED


@dataclass(frozen=True)
class Vocabulary:
    """One vocabulary: where its files come from, and which library is right about its ids."""

    artifact: str  # a folder of ../shared/artifacts with a tokenizer.json, or ""
    family: str
    reference: str
    ranks: str = ""  # a rank table, and tiktoken's name of the encoding
    model: str = ""  # a SentencePiece file


VOCABULARIES = {
    "gpt2": Vocabulary("gpt2", "byte BPE", "tokenizers", ranks="r50k_base"),
    "cl100k": Vocabulary("", "byte BPE", "tiktoken", ranks="cl100k_base"),
    "o200k": Vocabulary("", "byte BPE", "tiktoken", ranks="o200k_base"),
    "llama3": Vocabulary("llama3.1", "byte BPE", "tokenizers"),
    "qwen3": Vocabulary("qwen3", "byte BPE", "tokenizers"),
    "deepseek": Vocabulary("deepseek-v3", "byte BPE", "tokenizers"),
    "llama2": Vocabulary(
        "mistral-v0.1", "SentencePiece BPE", "tokenizers", model="mistral-v0.1/tokenizer.model.v1"
    ),
    "gemma3": Vocabulary("gemma3", "SentencePiece BPE", "tokenizers"),
    "bert": Vocabulary("minilm-bert-uncased", "WordPiece", "tokenizers"),
    "t5": Vocabulary("t5-base", "Unigram", "tokenizers", model="t5-base/spiece.model"),
    "albert": Vocabulary("albert", "Unigram", "tokenizers", model="albert/spiece.model"),
}
# The patterns as their authors first published them: the libraries know these by their spelling.
# tiktoken's own, with possessive repeats, matches the same.
PATTERNS = {
    "cl100k": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "o200k": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


def json_file(data: Path, name: str) -> Path:
    """Return the path of a vocabulary's tokenizer.json."""
    return data / "vocabularies" / name / "tokenizer.json"


def rank_file(data: Path, name: str) -> Path:
    """Return the path of a vocabulary's rank table."""
    return data / "vocabularies/ranks" / f"{VOCABULARIES[name].ranks}.tiktoken"


def model_file(data: Path, name: str) -> Path:
    """Return the path of a vocabulary's SentencePiece model."""
    return data / "vocabularies" / name / "tokenizer.model"


def describe(data: Path, name: str) -> dict[str, Any]:
    """Return tiktoken's pattern and special tokens of an encoding."""
    encodings = json.loads((data / "vocabularies/ranks/encodings.json").read_text("utf-8"))
    described: dict[str, Any] = encodings[VOCABULARIES[name].ranks]
    return described


def _spellings() -> dict[int, str]:
    """Map every byte to the character that spells it in a byte-level vocabulary."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {
        byte: chr(0x100 + place) for place, byte in enumerate(rest)
    }


def _halves(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes] | None:
    """Return the two tokens that merge into a token, by the ranks below its own."""
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 2:
        pairs = [ranks.get(parts[at] + parts[at + 1]) for at in range(len(parts) - 1)]
        known = [(rank, at) for at, rank in enumerate(pairs) if rank is not None]
        lowest = min((pair for pair in known if pair[0] < ranks[token]), default=None)
        if lowest is None:
            return None
        at = lowest[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return (parts[0], parts[1]) if len(parts) == 2 else None


def _merges(ranks: dict[bytes, int], spell: dict[int, str]) -> Iterator[list[str]]:
    for token in sorted(ranks, key=ranks.__getitem__):
        halves = _halves(token, ranks)
        if halves is not None:
            yield ["".join(spell[byte] for byte in half) for half in halves]


def converted(ranks: dict[bytes, int], pattern: str, special: dict[str, int]) -> dict[str, Any]:
    """Return a rank table as a tokenizer.json."""
    spell = _spellings()
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
             "invert": False}  # fmt: skip
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": id, "content": text, **flags, "special": True} for text, id in special.items()
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [split, {**level, "use_regex": False}],
        },
        "post_processor": None,
        "decoder": {**level, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {
                "".join(spell[byte] for byte in token): rank for token, rank in ranks.items()
            },
            "merges": list(_merges(ranks, spell)),
        },
    }


def read_ranks(path: Path) -> dict[bytes, int]:
    """Read a rank table."""
    rows = (line.split() for line in path.read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in rows}


def make(data: Path) -> None:
    """Write the files of every vocabulary that are not there yet."""
    artifacts, ranks = SHARED / "artifacts", data / "vocabularies/ranks"
    ranks.mkdir(parents=True, exist_ok=True)
    for path in (artifacts / "tiktoken").iterdir():
        if not (ranks / path.name).exists():
            shutil.copy(path, ranks)
    for name, vocabulary in VOCABULARIES.items():
        out = json_file(data, name)
        out.parent.mkdir(parents=True, exist_ok=True)
        if vocabulary.model:
            shutil.copyfile(artifacts / vocabulary.model, model_file(data, name))
        if name == "bert":
            shutil.copyfile(
                artifacts / vocabulary.artifact / "vocab.txt", out.with_name("vocab.txt")
            )
        if out.exists():
            continue
        if vocabulary.artifact:
            text = (artifacts / vocabulary.artifact / "tokenizer.json").read_text("utf-8")
            document = json.loads(text)
            if document.get("truncation") or document.get("padding"):
                document |= {"truncation": None, "padding": None}
                text = json.dumps(document, ensure_ascii=False)
        else:
            described = describe(data, name)
            table = read_ranks(rank_file(data, name))
            document = converted(table, PATTERNS[name], described["special_tokens"])
            text = json.dumps(document, ensure_ascii=False)
        out.write_text(text, "utf-8")


def tiktoken_cache(data: Path) -> Path:
    """Return a folder where tiktoken, and what calls it, finds the rank tables offline."""
    import tiktoken_ext.openai_public as public

    cache = data / "tiktoken"
    cache.mkdir(exist_ok=True)
    for url in set(re.findall(r'"(\S+?/encodings/\w+\.tiktoken)"', inspect.getsource(public))):
        source = data / "vocabularies/ranks" / url.rsplit("/", 1)[1]
        target = cache / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
        if source.exists() and not target.exists():
            shutil.copy(source, target)
    return cache
