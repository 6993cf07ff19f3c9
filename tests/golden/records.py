"""The recorded results of the originals, and the artifacts that they were made from."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import protok
from protok._core import BYTE_ALPHABET

TOYS = (
    *("bpe_bytefallback", "bpe_bytefallback_partial", "bpe_contprefix", "bpe_fuse_unk"),
    *("bpe_ignore_merges", "bpe_metaspace_first", "ctc", "flags_bytelevel", "template_multi"),
    *("trunc_pad", "unigram_bytefallback", "unigram_plain", "wordlevel", "wordpiece_max10"),
)
# tokenizers 0.23.3, from tokenizer.json alone.
HUGGING_FACE = (
    *("albert", "bert-base-cased", "claude-old", "clip", "deepseek-v3", "gemma3", "gpt-oss"),
    *("gpt2", "llama3.1", "minilm-bert-uncased", "mistral-v0.1", "openai-gpt", "qwen3"),
    *("roberta-robbert-1k", "t5-base", "xlmr-like-1k"),
    *(f"toy.{name}" for name in TOYS),
)
# tiktoken 0.14.0: golden -> rank file; its encoding, unless an encoding.json stands beside it.
TIKTOKEN = {
    "r50k_base": ("tiktoken/r50k_base.tiktoken", "r50k_base"),
    "p50k_base": ("tiktoken/p50k_base.tiktoken", "p50k_base"),
    "cl100k_base": ("tiktoken/cl100k_base.tiktoken", "cl100k_base"),
    "o200k_base": ("tiktoken/o200k_base.tiktoken", "o200k_base"),
    "llama3": ("llama3.1/tokenizer.model", None),
    "whisper": ("whisper/multilingual.tiktoken", None),
}
# sentencepiece 0.2.3: golden -> model.
SENTENCEPIECE = {
    "t5-base": "t5-base/spiece.model",
    "albert": "albert/spiece.model",
    "unigram_1k_nfkc": "xlmr-like-1k/sentencepiece.bpe.model",
    "mistral-v1": "mistral-v0.1/tokenizer.model.v1",
    "unigram_8k_ja_nfkc": "sentencepiece/unigram_8k_ja_nfkc.model",
    "unigram_bytefallback_toy": "sentencepiece/unigram_bytefallback_toy.model",
    "llama2_bpe_bytefallback": "sentencepiece/llama2_bpe_bytefallback.model",
    "mistral_v3": "sentencepiece/mistral_v3.model",
    "bpe_toy_uds": "sentencepiece/bpe_toy_uds.model",
    "word_toy": "sentencepiece/word_toy.model",
}
# llama.cpp
GGUF = ("bert-bge", "deepseek-coder", "falcon", "llama-spm", "phi-3")
TEKKEN = "mistral-tekken/tekken_240718.json"
RWKV = "rwkv-world/rwkv_vocab_v20230424.txt"
SHOWN = 5


def records(path: Path) -> list[dict[str, Any]]:
    """Read a golden file. A line ends at a line feed and nothing else."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


@cache
def inputs(golden: Path) -> dict[str, str]:
    """Return the texts by id."""
    return {record["id"]: record["text"] for record in records(golden / "inputs.jsonl")}


def hugging_face_file(shared: Path, name: str) -> bytes:
    """Return a tokenizer.json, by the name of its golden or of its record."""
    folder, _, toy = name.replace("toy/", "toy.", 1).partition("toy.")
    path = f"{folder}/tokenizer.json" if not toy else f"toy/{toy}.json"
    return (shared / "artifacts" / path).read_bytes()


@cache
def hugging_face(shared: Path, name: str) -> protok.Tokenizer:
    """Load a tokenizer.json alone."""
    return protok.Tokenizer({"tokenizer.json": hugging_face_file(shared, name)})


@cache
def tiktoken(shared: Path, name: str) -> protok.Tokenizer:
    """Load a rank file."""
    path, encoding = TIKTOKEN[name]
    return protok.load(shared / "artifacts" / path, encoding=encoding)


@cache
def file_alone(shared: Path, path: str) -> protok.Tokenizer:
    """Load a file of any format without what stands beside it."""
    return protok.load((shared / "artifacts" / path).read_bytes())


@cache
def last_step(tok: protok.Tokenizer) -> str | None:
    """Return the type of the last step of the pre-tokenizer."""
    step = json.loads(tok.describe())["pre_tokenizer"]
    while step is not None and step["type"] == "Sequence":
        step = step["pretokenizers"][-1] if step["pretokenizers"] else None
    return None if step is None else str(step["type"])


def pieces(tok: protok.Tokenizer, text: str) -> list[str]:
    """Return the pieces of a text, spelled as the model of the reference reads them."""
    trace = tok.trace(text, special="parse").to_dict()
    found = [piece["text"] for section in trace["sections"] for piece in section["pieces"]]
    if last_step(tok) != "ByteLevel":
        return found
    # A trace shows what can be read; the alphabet stands for the same bytes.
    return ["".join(BYTE_ALPHABET[byte] for byte in piece.encode()) for piece in found]


class Differences:
    """What differs, to be told all at once."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.compared = 0

    def compare(self, case: str, what: str, got: object, expected: object) -> None:
        """Keep a pair that differs."""
        self.compared += 1
        if got != expected:
            self.found.append(f"{case} {what}:\n  got      {got!r}\n  expected {expected!r}")

    def check(self) -> None:
        """Fail if anything differed."""
        assert self.compared > 100
        if self.found:
            shown = "\n".join(self.found[:SHOWN])
            pytest.fail(f"{len(self.found)} of {self.compared} differ\n{shown}", pytrace=False)
