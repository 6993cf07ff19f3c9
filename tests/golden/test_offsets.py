"""Offsets equal the references', or differ by a rule that docs/differences.md explains."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from golden.offset_rules import Artifact, Span, classes

import protok

# Which classes of difference each golden shows; the rules are in offset_rules.py.
HUGGING_FACE = {
    "claude-old": {"composed"},
    "clip": {"composed"},
    "deepseek-v3": set(),
    "gemma3": set(),
    "gpt-oss": set(),
    "gpt2": set(),
    "llama3.1": set(),
    "mistral-v0.1": {"inserted"},
    "qwen3": {"composed"},
    "roberta-robbert-1k": {"trimmed", "dropped"},
    "toy.bpe_bytefallback": {"inserted"},
    "toy.bpe_bytefallback_partial": {"dropped"},
    "toy.flags_bytelevel": {"trimmed", "composed"},
}
TIKTOKEN = {
    "r50k_base": ("tiktoken/r50k_base.tiktoken", "r50k_base"),
    "p50k_base": ("tiktoken/p50k_base.tiktoken", "p50k_base"),
    "cl100k_base": ("tiktoken/cl100k_base.tiktoken", "cl100k_base"),
    "o200k_base": ("tiktoken/o200k_base.tiktoken", "o200k_base"),
    "llama3": ("llama3.1/tokenizer.model", None),
    "whisper": ("whisper/multilingual.tiktoken", None),
}


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def texts_of(shared: Path) -> dict[str, str]:
    return {record["id"]: record["text"] for record in records(shared / "golden/inputs.jsonl")}


def artifact(shared: Path, name: str) -> Artifact:
    folder, _, toy = name.replace("/", ".", 1).partition(".")
    path = f"toy/{toy}.json" if folder == "toy" else f"{name}/tokenizer.json"
    data = (shared / "artifacts" / path).read_bytes()
    return Artifact(protok.Tokenizer({"tokenizer.json": data}))


@pytest.mark.parametrize("name", HUGGING_FACE)
def test_hugging_face(shared: Path, name: str) -> None:
    subject = artifact(shared, name)
    texts = texts_of(shared)
    found: Counter[str] = Counter()
    unknown = []
    for record in records(shared / "golden" / f"{name}.jsonl"):
        text = texts[record["id"]]
        theirs = [(start, end) for start, end in record["offsets"]]
        for place, kind in enumerate(classes(subject, text, theirs)):
            if kind is None:
                unknown.append((record["id"], place, record["tokens"][place], theirs[place]))
            else:
                found[kind] += 1
        # The template's tokens have no place, and move nobody else's.
        whole = subject.tok.encode(text, special="parse")
        plain = subject.tok.encode(text, add_special_tokens=False, special="parse")
        kept = [
            row for row, mask in zip(whole.offsets, whole.special_mask, strict=True) if not mask
        ]
        assert [row.tolist() for row in kept] == plain.offsets.tolist()
        assert not any(whole.offsets[whole.special_mask == 1].ravel())
    assert not unknown, unknown[:10]
    assert found[""] > 1000
    assert set(found) - {""} == HUGGING_FACE[name]


@pytest.mark.parametrize("name", TIKTOKEN)
def test_tiktoken(shared: Path, name: str) -> None:
    path, encoding = TIKTOKEN[name]
    tok = protok.load(shared / "artifacts" / path, encoding=encoding)
    texts = texts_of(shared)
    for record in records(shared / "golden" / f"tiktoken.{name}.jsonl"):
        offsets = tok.encode(texts[record["id"]], special="text").offsets
        assert offsets[:, 0].tolist() == record["starts"], record["id"]


def test_an_unknown_difference_is_noticed(shared: Path) -> None:
    subject = artifact(shared, "roberta-robbert-1k")
    text = "  x  y e\u0301"
    offsets = subject.tok.encode(text, add_special_tokens=False).offsets.tolist()
    for place in range(len(offsets)):
        for edge, step in ((0, -1), (1, 1), (1, 2)):
            wrong = [tuple(span) for span in offsets]
            wrong[place] = tuple(end + step * (at == edge) for at, end in enumerate(offsets[place]))
            assert classes(subject, text, wrong)[place] is None


# -- the rows of docs/differences.md ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "theirs", "ours", "kind"),
    [
        (
            "roberta-robbert-1k",
            "  x a",
            [(1, 1), (2, 2), (2, 3), (4, 5)],
            [(0, 1), (1, 2), (2, 3), (3, 5)],
            "trimmed",
        ),
        (
            "toy.flags_bytelevel",
            "  x  y",
            [(0, 0), (2, 2), (2, 3), (4, 4), (5, 5), (5, 6)],
            [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)],
            "trimmed",
        ),
        ("qwen3", "\u1112\u1161\u11abx", [(0, 1), (3, 4)], [(0, 3), (3, 4)], "composed"),
        (
            "qwen3",
            "q\u0307\u0323",
            [(0, 1), (1, 2), (1, 2), (2, 3), (2, 3)],
            [(0, 1), (1, 3), (1, 3), (1, 3), (1, 3)],
            "composed",
        ),
        ("mistral-v0.1", "\n", [(0, 1), (0, 1)], [(0, 0), (0, 1)], "inserted"),
        ("roberta-robbert-1k", "\u0434\u0430x", [(0, 1)], [(2, 3)], "dropped"),
    ],
)
def test_pinned(
    shared: Path,
    name: str,
    text: str,
    theirs: list[Span],
    ours: list[Span],
    kind: str,
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    subject = artifact(shared, name)
    folder, _, toy = name.partition(".")
    path = f"toy/{toy}.json" if folder == "toy" else f"{name}/tokenizer.json"
    reference = tokenizers.Tokenizer.from_file(str(shared / "artifacts" / path))
    encoding = reference.encode(text, add_special_tokens=False)
    mine = subject.tok.encode(text, add_special_tokens=False)
    assert mine.tolist() == encoding.ids
    assert encoding.offsets == theirs
    assert [tuple(span) for span in mine.offsets.tolist()] == ours
    assert kind in classes(subject, text, encoding.offsets)
