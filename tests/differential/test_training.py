"""Trainers beside those of other libraries, on the shared corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from differential.trainers import CASES, compare

from protok import _core
from protok.training.artifact import document

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
BLANK = "\u2581"
METASPACE = {"type": "Metaspace", "replacement": BLANK, "prepend_scheme": "always", "split": True}
BOOKS = ("moby-dick", "the-origin-of-species", "pride-and-prejudice", "king-james-bible")


def counted(lines: list[str], pre_tokenizer: dict[str, Any]) -> _core.WordCounter:
    counter = _core.WordCounter(json.dumps(document(pre_tokenizer=pre_tokenizer)).encode())
    counter.feed(lines)
    return counter


def english(shared: Path, *books: str) -> list[str]:
    texts = (shared / f"corpus/prose/en/{book}.txt" for book in books)
    return [line for text in texts for line in text.read_text("utf-8").split("\n") if line]


def multilingual(shared: Path) -> list[str]:
    folder = shared / "corpus/prose/multi"
    names = ("zh-Hans.lohelp", "ru.lohelp", "th.news", "ar.news", "hi.lohelp")
    return [line for n in names for line in (folder / f"{n}.txt").read_text("utf-8").split("\n")]


def merges_of(training: Any) -> list[list[str]]:
    tokens = training["tokens"]
    return [[tokens[merge[0]], tokens[merge[1]]] for merge in training["merges"]]


@pytest.mark.parametrize(
    ("corpus", "symbols", "size"),
    [
        ("english", "bytes", 32_000),
        ("english", "characters", 1_000),
        ("english", "characters", 8_000),
        ("multilingual", "bytes", 8_000),
        ("multilingual", "characters", 2_000),
    ],
)
def test_merges_equal_those_of_tokenizers(
    shared: Path, corpus: str, symbols: Any, size: int
) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    lines = english(shared, *BOOKS) if corpus == "english" else multilingual(shared)
    reference = Tokenizer(models.BPE())
    of_bytes = symbols == "bytes"
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    reference.pre_tokenizer = byte_level if of_bytes else pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<s>"],
        initial_alphabet=byte_level.alphabet() if of_bytes else [],
        show_progress=False,
    )
    reference.train_from_iterator(lines, trainer)
    expected = json.loads(reference.to_str())["model"]
    words = counted(lines, BYTE_LEVEL if of_bytes else {"type": "Whitespace"})
    training = _core.train_bpe(
        words,
        vocab_size=size,
        symbols=symbols,
        special_tokens=["<s>"],
        initial_alphabet=_core.BYTE_ALPHABET if of_bytes else "",
    )
    assert merges_of(training) == expected["merges"]
    assert {token: id for id, token in enumerate(training["tokens"])} == expected["vocab"]
    assert len(training["tokens"]) == size


@pytest.fixture(scope="module")
def mixed(shared: Path) -> list[str]:
    """Return prose in three scripts, and code."""
    names = (
        "prose/en/the-war-of-the-worlds",
        "prose/multi/ru.lohelp",
        "prose/multi/hi.lohelp",
        "slices/code/python.py",
    )
    texts = ((shared / f"corpus/{name}.txt").read_text("utf-8") for name in names)
    return [line for text in texts for line in text.splitlines(keepends=True)]


@pytest.mark.parametrize("size", [1_000, 8_000])
@pytest.mark.parametrize("case", CASES)
def test_every_pre_tokenizer(mixed: list[str], case: str, size: int) -> None:
    assert compare(CASES[case], mixed, size) == ("same", size)


def unigram_of_sentencepiece(lines: list[str], size: int, folder: Path) -> list[tuple[str, float]]:
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_prefix=str(folder / "model"),
        model_type="unigram",
        vocab_size=size + 3,
        character_coverage=1.0,
        max_sentence_length=1 << 20,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    listed = (folder / "model.vocab").read_text("utf-8").split("\n")[3:]
    pieces = [line.split("\t") for line in listed if line]
    return [(piece, float(score)) for piece, score in pieces]


def unigram_of_tokenizers(lines: list[str], size: int) -> list[tuple[str, float]]:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    reference = Tokenizer(models.Unigram())
    reference.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=size + 1, show_progress=False, unk_token="<unk>", special_tokens=["<unk>"]
    )
    reference.train_from_iterator(lines, trainer)
    vocab = json.loads(reference.to_str())["model"]["vocab"]
    return [(piece, score) for piece, score in vocab if piece != "<unk>"]


@pytest.mark.parametrize("library", ["sentencepiece", "tokenizers"])
def test_unigram_is_at_least_as_likely(shared: Path, library: str, tmp_path: Path) -> None:
    """On the corpus and on text that neither has seen, over all segmentations and the best one."""
    size = 4000
    lines = [" ".join(line.split()) for line in english(shared, "pride-and-prejudice")]
    unseen = [" ".join(line.split()) for line in english(shared, "frankenstein")]
    if library == "sentencepiece":
        theirs = unigram_of_sentencepiece(lines, size, tmp_path)
    else:
        theirs = unigram_of_tokenizers(lines, size)
    words, held_out = counted(lines, METASPACE), counted(unseen, METASPACE)
    training = _core.train_unigram(words, vocab_size=len(theirs))
    assert training["stop"] == "vocab_size"
    assert len(training["pieces"]) == len(theirs)
    for text in (words, held_out):
        ours = _core.unigram_likelihood(training["pieces"], text)
        other = _core.unigram_likelihood(theirs, text)
        assert ours["marginal"] <= other["marginal"]
        assert ours["best_path"] <= other["best_path"]


def test_unigram_is_the_same_whatever_the_threads(shared: Path) -> None:
    words = counted(english(shared, *BOOKS), METASPACE)
    one = _core.train_unigram(words, vocab_size=8000, threads=1)
    assert one == _core.train_unigram(words, vocab_size=8000, threads=3)
