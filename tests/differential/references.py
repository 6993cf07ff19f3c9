"""Every artifact that has an implementation to compare with, paired with it.

A GGUF file has none that pip installs: its reference are the recorded results of tests/golden, or
llama.cpp itself where the environment names it (see llama_cpp.py).
"""

from __future__ import annotations

import ast
import base64
import importlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gguf_files
import tiktoken
from differential import llama_cpp
from differential.artifacts import (
    HUGGING_FACE,
    RANK_FILES,
    RWKV,
    SENTENCEPIECE,
    TEKKEN,
    TOYS,
)
from differential.texts import SHARED
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer

import protok

Encode = Callable[[str], list[int]]
Decode = Callable[[list[int]], str]
ARTIFACTS = SHARED / "artifacts"


@dataclass
class Pair:
    """One artifact, read by protok and by its reference."""

    ours: Encode
    theirs: Encode
    our_text: Decode
    their_text: Decode
    special: list[str]
    reference: str

    def differ(self, text: str) -> bool:
        """Tell whether ids or decoded text differ; an error of protok is a difference."""
        try:
            expected = self.theirs(text)
            return self.ours(text) != expected or self.our_text(expected) != self.their_text(
                expected
            )
        except protok.ProtokError:
            return True


def hugging_face(path: Path) -> Pair:
    """Pair a tokenizer.json, alone, with tokenizers."""
    reference = Tokenizer.from_file(str(path))
    reference.no_truncation()
    reference.no_padding()
    tok = protok.Tokenizer({"tokenizer.json": path.read_bytes()})
    return Pair(
        lambda text: tok.encode(text, add_special_tokens=False, special="parse").tolist(),
        lambda text: list(reference.encode(text, add_special_tokens=False).ids),
        lambda ids: tok.decode(ids, errors="reference"),
        lambda ids: str(reference.decode(ids, skip_special_tokens=False)),
        [token.content for token in reference.get_added_tokens_decoder().values()],
        "tokenizers",
    )


def rank_file(name: str) -> Pair:
    """Pair a rank file with tiktoken."""
    beside = {
        "llama3": ARTIFACTS / "llama3.1/tokenizer.model",
        "whisper": ARTIFACTS / "whisper/multilingual.tiktoken",
    }
    if name in beside:
        path = beside[name]
        described = json.loads((path.parent / "encoding.json").read_text("utf-8"))
        tok = protok.load(path)
    else:
        folder = ARTIFACTS / "tiktoken"
        described = json.loads((folder / "encodings.json").read_text("utf-8"))[name]
        path = folder / described["rank_file"]
        tok = protok.load(path, encoding=name)
    reference = tiktoken.Encoding(
        name,
        pat_str=described["pat_str"],
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens=described["special_tokens"],
    )
    return Pair(
        lambda text: tok.encode(text, special="parse").tolist(),
        lambda text: reference.encode(text, allowed_special="all"),
        tok.decode,
        reference.decode,
        list(described["special_tokens"]),
        "tiktoken",
    )


def sentencepiece_model(path: Path) -> Pair:
    """Pair a SentencePiece model, alone, with sentencepiece."""
    library: Any = importlib.import_module("sentencepiece")
    reference = library.SentencePieceProcessor(model_file=str(path))
    tok = protok.load(path.read_bytes())
    # Pieces with a kind of their own, and a few that are only spelled like them.
    special = [
        reference.id_to_piece(id)
        for id in range(min(reference.get_piece_size(), 1_000))
        if reference.is_control(id) or reference.id_to_piece(id).startswith(("<", "["))
    ]
    return Pair(
        lambda text: tok.encode(text, special="text", add_special_tokens=False).tolist(),
        lambda text: list(reference.encode(text)),
        lambda ids: tok.decode(ids, errors="reference"),
        lambda ids: str(reference.decode(ids)),
        special,
        "sentencepiece",
    )


def tekken(path: Path) -> Pair:
    """Pair a tekken.json with mistral-common, or with tiktoken where that is not installed.

    It has its ranks and pattern cut by tiktoken, and shifts the ids: so does the second way.
    """
    tok = protok.load(path.read_bytes())
    special = ["[INST]", "[/INST]", "<s>", "</s>", "<unk>", "[TOOL_CALLS]"]
    encode: Encode
    decode: Decode
    try:
        module: Any = importlib.import_module("mistral_common.tokens.tokenizers.tekken")
    except ModuleNotFoundError:
        name = "tiktoken (no mistral-common)"
        data = json.loads(path.read_text("utf-8"))
        shift = int(data["config"]["default_num_special_tokens"])
        size = int(data["config"]["default_vocab_size"]) - shift
        inner = tiktoken.Encoding(
            "tekken",
            pat_str=data["config"]["pattern"],
            mergeable_ranks={
                base64.b64decode(entry["token_bytes"]): entry["rank"]
                for entry in data["vocab"][:size]
            },
            special_tokens={},
        )

        def encode(text: str) -> list[int]:
            return [id + shift for id in inner.encode_ordinary(text)]

        def decode(ids: list[int]) -> str:
            return inner.decode([id - shift for id in ids])
    else:
        name = "mistral-common"
        reference = module.Tekkenizer.from_file(str(path))

        def encode(text: str) -> list[int]:
            return list(reference.encode(text, bos=False, eos=False))

        def decode(ids: list[int]) -> str:
            return str(reference.decode(ids))

    return Pair(
        lambda text: tok.encode(text, special="text", add_special_tokens=False).tolist(),
        encode,
        tok.decode,
        decode,
        special,
        name,
    )


def rwkv(path: Path) -> Pair:
    """Pair an RWKV vocabulary with the longest match, found byte by byte in a tree of bytes."""
    tok = protok.load(path.read_bytes())
    tokens: dict[int, bytes] = {}
    for line in path.read_text("utf-8").split("\n"):
        if line:
            id, _, rest = line.partition(" ")
            token = ast.literal_eval(rest[: rest.rindex(" ")])
            tokens[int(id)] = token.encode() if isinstance(token, str) else token
    tree: dict[int, Any] = {}
    whole = -1  # the id of the token that ends at a node
    for key, token in tokens.items():
        node = tree
        for byte in token:
            node = node.setdefault(byte, {})
        node[whole] = key

    def encode(text: str) -> list[int]:
        data, ids, start = text.encode(), [], 0
        while start < len(data):
            node, end, found = tree, start, (start, 0)
            while end < len(data) and data[end] in node:
                node = node[data[end]]
                end += 1
                if whole in node:
                    found = (end, node[whole])
            start, id = found
            ids.append(id)
        return ids

    return Pair(
        lambda text: tok.encode(text, special="text").tolist(),
        encode,
        tok.decode,
        lambda ids: b"".join(tokens[id] for id in ids).decode("utf-8", errors="replace"),
        [],
        "longest match",
    )


def gguf(make: Callable[[], bytes]) -> Pair:
    """Pair a GGUF file with llama.cpp, control tokens in the text and the ends included."""
    data = make()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocab.gguf"
        path.write_bytes(data)
        reference = llama_cpp.LlamaCpp(path)
    tok = protok.load(data)
    return Pair(
        lambda text: tok.encode(text, special="parse").tolist(),
        lambda text: reference.encode(text, ends=True),
        tok.decode,
        reference.decode,
        [token.content for token in tok.spec.added_tokens],
        "llama.cpp",
    )


def every() -> dict[str, Callable[[], Pair]]:
    """Return how each artifact is paired, by the name that the command knows it by."""
    pairs: dict[str, Callable[[], Pair]] = {}
    for name in HUGGING_FACE:
        path = ARTIFACTS / name / "tokenizer.json"
        pairs[name] = lambda path=path: hugging_face(path)  # type: ignore[misc]
    for name in TOYS:
        path = ARTIFACTS / "toy" / f"{name}.json"
        pairs[f"toy:{name}"] = lambda path=path: hugging_face(path)  # type: ignore[misc]
    for name in RANK_FILES:
        pairs[f"tiktoken:{name}"] = lambda name=name: rank_file(name)  # type: ignore[misc]
    for name, model in SENTENCEPIECE.items():
        path = ARTIFACTS / model
        pairs[f"sentencepiece:{name}"] = lambda path=path: sentencepiece_model(path)  # type: ignore[misc]
    if llama_cpp.is_there():
        pairs |= {
            f"gguf:{name}": partial(gguf, make)
            for name, make in gguf_files.every(ARTIFACTS).items()
        }
    pairs["tekken"] = lambda: tekken(ARTIFACTS / TEKKEN)
    pairs["rwkv"] = lambda: rwkv(ARTIFACTS / RWKV)
    return pairs
