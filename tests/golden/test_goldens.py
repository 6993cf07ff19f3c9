"""Ids, tokens and decoded text equal the references' on every byte-level artifact."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import protok

# tokenizers 0.23.3, from tokenizer.json alone.
HUGGING_FACE = (
    "claude-old",
    "clip",
    "deepseek-v3",
    "gpt-oss",
    "gpt2",
    "llama3.1",
    "qwen3",
    "roberta-robbert-1k",
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
SHOWN = 5


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


@cache
def inputs(golden: Path) -> dict[str, str]:
    return {record["id"]: record["text"] for record in records(golden / "inputs.jsonl")}


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


@pytest.mark.parametrize("name", [*HUGGING_FACE, "toy.flags_bytelevel"])
def test_hugging_face(shared: Path, name: str) -> None:
    folder, _, toy = name.partition(".")
    path = f"toy/{toy}.json" if folder == "toy" else f"{name}/tokenizer.json"
    tok = protok.Tokenizer({"tokenizer.json": (shared / "artifacts" / path).read_bytes()})
    texts = inputs(shared / "golden")
    differences = Differences()
    for record in records(shared / "golden" / f"{name}.jsonl"):
        case, text = record["id"], texts[record["id"]]
        plain = tok.encode(text, add_special_tokens=False, special="parse")
        differences.compare(case, "ids", plain.tolist(), record["ids"])
        differences.compare(case, "tokens", plain.tokens, record["tokens"])
        count = tok.count(text, special="parse")
        differences.compare(case, "count", count, len(record["ids"]))
        whole = tok.encode(text, special="parse")
        special = record.get("special", {})
        ids = special.get("ids", record["ids"])
        differences.compare(case, "ids with specials", whole.tolist(), ids)
        for key, got in (("mask", whole.special_mask), ("type_ids", whole.type_ids)):
            if key in special:
                digits = "".join(str(int(value)) for value in got)
                differences.compare(case, key, digits, special[key])
        differences.compare(case, "decode", tok.decode(ids), record["decode"])
        skipped = tok.decode(ids, skip_special_tokens=True)
        differences.compare(case, "decode_skip", skipped, record["decode_skip"])
    differences.check()


@pytest.mark.parametrize("name", TIKTOKEN)
def test_tiktoken(shared: Path, name: str) -> None:
    path, encoding = TIKTOKEN[name]
    tok = protok.load(shared / "artifacts" / path, encoding=encoding)
    texts = inputs(shared / "golden")
    differences = Differences()
    for record in records(shared / "golden" / f"tiktoken.{name}.jsonl"):
        case, text = record["id"], texts[record["id"]]
        ids = tok.encode(text, special="text").tolist()
        differences.compare(case, "ids", ids, record["ids"])
        differences.compare(case, "decode", tok.decode(ids), record.get("decode", text))
        parsed = tok.encode(text, special="parse").tolist()
        expected = record.get("ids_all_special", record["ids"])
        differences.compare(case, "ids_all_special", parsed, expected)
        try:
            raised = tok.encode(text) is None
        except protok.SpecialTokenError:
            raised = True
        expected_to_raise = bool(record.get("default_encode_raises"))
        differences.compare(case, "special='raise' raises", raised, expected_to_raise)
    differences.check()


@pytest.mark.parametrize("name", HUGGING_FACE)
def test_the_folder_means_the_same(shared: Path, name: str) -> None:
    """The companions of a tokenizer.json change no id."""
    folder = shared / "artifacts" / name
    alone = protok.Tokenizer({"tokenizer.json": (folder / "tokenizer.json").read_bytes()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", protok.ArtifactWarning)  # CLIP's, see test_transformers
        whole = protok.load(folder)
    for text in inputs(shared / "golden").values():
        ids = alone.encode(text, special="parse").tolist()
        assert whole.encode(text, special="parse").tolist() == ids
