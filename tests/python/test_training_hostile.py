"""Corpora that nobody would write: declared behaviour, no hang, no overflow."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import protok
from protok.corpus import Source
from protok.training import Recipe, run

ACCEPT = Recipe(vocab_size=300, fewer="accept")


def write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("data", [b"", b"\n\n\n"])
@pytest.mark.parametrize("model", ["bpe", "word"])
def test_nothing(tmp_path: Path, data: bytes, model: str) -> None:
    recipe = Recipe(vocab_size=300, model=model, line_ends="strip")  # type: ignore[arg-type]
    with pytest.raises(protok.InputError, match="corpus is empty"):
        protok.train(recipe, [write(tmp_path, data)])


def test_one_line(tmp_path: Path) -> None:
    tok = protok.train(ACCEPT, [write(tmp_path, b"a")])
    assert len(tok.vocab) == 256


def test_a_word_of_ten_megabytes(tmp_path: Path) -> None:
    letters = bytes(random.Random(1).choices(b"ACGT", k=10_000_000))
    training = run(ACCEPT, [write(tmp_path, letters)], memory_bytes=1 << 22, spill_folder=tmp_path)
    assert len(training.tokenizer.vocab) == 300
    assert training.counted is not None
    assert len(training.counted.counter) == 1
    assert training.merges[0].count > 600_000


ONE_WORD: dict[str, Any] = {"pre_tokenizer": None, "decoder": None, "fewer": "accept"}


@pytest.mark.parametrize(
    "options",
    [
        {"symbols": "characters"},
        {"symbols": "characters", "remove_intermediate": 0.9},
        {"model": "wordpiece"},
        {"model": "wordpiece", "scoring": "likelihood"},
        {"model": "unigram"},
    ],
)
@pytest.mark.parametrize("letters", ["ACGT", "a", "\u4e00\u4e8c\u4e09\u56db\u4e94"])
def test_one_word_for_every_trainer(options: dict[str, Any], letters: str) -> None:
    """Larger ones are timed by ``benchmarks/hostile_training.py``."""
    word = "".join(random.Random(4).choices(letters, k=300_000))
    training = run(Recipe(vocab_size=200, **ONE_WORD, **options), [word])
    tokens = list(training.tokenizer.vocab)
    assert {*letters} <= {*tokens}
    # Of one letter there are only its doublings, so there are fewer tokens than asked for.
    assert len(tokens) == 200 or len(letters) == 1
    with pytest.raises(protok.InputError, match="not 200000"):
        run(Recipe(vocab_size=200_000, **{**ONE_WORD, **options, "fewer": "refuse"}), [word[:3000]])


def test_identical_lines(tmp_path: Path) -> None:
    path = write(tmp_path, b"the same line\n" * 200_000)
    training = run(ACCEPT, [path], threads=2)
    assert training.counted is not None
    assert dict(training.counted.counter.items())[b" same"] == 200_000
    assert training.provenance["corpus"]["documents"] == 200_000


def test_random_bytes_by_policy(tmp_path: Path) -> None:
    data = random.Random(2).randbytes(300_000)
    path = write(tmp_path, data)
    with pytest.raises(protok.InputError, match=r"corpus\.txt, byte \d+: .*not UTF-8"):
        protok.train(ACCEPT, [path])
    replaced = Source(files=(str(path),), encoding_errors="replace")
    training = run(ACCEPT, [replaced])
    assert len(training.tokenizer.vocab) == 300
    source = training.provenance["corpus"]["sources"][0]
    assert source["encoding_errors"] == "replace"
    assert source["invalid"] > 500
    skipped = run(ACCEPT, [Source(files=(str(path),), encoding_errors="skip")])
    assert skipped.provenance["corpus"]["sources"][0]["invalid"] == source["invalid"]


def test_counts_that_do_not_fit() -> None:
    with pytest.raises(protok.LimitError, match=r"64 bits|2\^63"):
        protok.train(ACCEPT, {"ab": (1 << 64) - 1, "abc": (1 << 64) - 1})


def test_too_few_distinct_symbols() -> None:
    with pytest.raises(protok.InputError, match="gives 259 tokens, not 300"):
        protok.train(Recipe(vocab_size=300), ["aaaa " * 50])


def test_a_limit_of_memory_that_is_none() -> None:
    with pytest.raises(protok.InputError, match="memory_bytes"):
        protok.train(ACCEPT, ["a b"], memory_bytes=1000)
