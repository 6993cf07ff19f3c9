"""Random lists of words: ids and words equal those of `tokenizers`, pairs and windows included."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import protok

tokenizers = pytest.importorskip("tokenizers")

ARTIFACTS = (
    "gpt2",
    "bert-base-cased",
    "t5-base",
    "albert",
    "mistral-v0.1",
    "gemma3",
    "llama3.1",
    "roberta-robbert-1k",
    "openai-gpt",
)
PARTS = (
    "the",
    "cat",
    " ",
    "\u2581",
    "naïve",
    "7,5",
    "한국",
    "\U0001f408",
    "<s>",
    "</s>",
    "##s",
    "\n",
)
CASES = 120


def some_words(source: random.Random) -> list[str]:
    count = source.choice((0, 1, 2, 5, 9))
    return ["".join(source.choices(PARTS, k=source.randrange(4))) for _ in range(count)]


@pytest.mark.parametrize("name", ARTIFACTS)
def test_random_words(shared: Path, name: str) -> None:
    path = shared / "artifacts" / name / "tokenizer.json"
    theirs = tokenizers.Tokenizer.from_file(str(path))
    theirs.no_padding()
    tok = protok.Tokenizer({"tokenizer.json": path.read_bytes()})
    source = random.Random(4)
    for _ in range(CASES):
        words, pair = some_words(source), some_words(source) if source.random() < 0.5 else None
        length = source.choice((None, 9))
        stride = source.choice((0, 1))
        if length is None:
            theirs.no_truncation()
        else:
            theirs.enable_truncation(length, stride=stride)
        encoding = tok.encode(
            words,
            pair,
            max_length=length,
            stride=stride,
            special="parse",
            is_pretokenized=True,
        )
        expected = theirs.encode(words, pair, is_pretokenized=True)
        windows = [encoding, *encoding.overflow]
        assert len(windows) == 1 + len(expected.overflowing)
        for ours, other in zip(windows, [expected, *expected.overflowing], strict=True):
            assert ours.tolist() == other.ids, (words, pair)
            assert ours.word_ids == other.word_ids, (words, pair)
            if theirs.post_processor is not None:  # without one the reference tells no pair
                assert ours.sequence_ids == other.sequence_ids, (words, pair)
