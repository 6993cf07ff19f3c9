"""Inputs that hung, crashed or confused other tokenizers, and their whole kind.

Named after the collected cases. A bound on time is a ratio of two lengths, with room: a stage in
quadratic time would exceed it many times over.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from small_artifacts import CLEANING, load, wordpiece

import protok

Result = TypeVar("Result")
MOST = 40.0  # how much longer ten times the text may take
SPECIALS = {"[CLS]": 1, "[SEP]": 2}


def seconds(work: Callable[[], object]) -> float:
    """Return the least time of three runs."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def outcome(work: Callable[[], Result]) -> Result | protok.ProtokError:
    """Return what a call gives, or the error that it raises."""
    try:
        return work()
    except protok.ProtokError as error:
        return error


@pytest.mark.parametrize(("char", "count", "first"), [("a", 125_000, 70540), ("^", 250_000, 62824)])
def test_case_P01_P02(cl100k: protok.Tokenizer, char: str, count: int, first: int) -> None:
    """A million times one character: exact, and in near-linear time."""
    encoding = cl100k.encode(char * 1_000_000)
    assert len(encoding) == count
    assert encoding[0] == first
    short, long = (seconds(lambda size=size: cl100k.encode(char * size)) for size in (10**5, 10**6))  # type: ignore[misc]
    assert long < MOST * max(short, 1e-3)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(?:a*)*c", "([a-z]+)*[0-9]"])
def test_case_P04(pattern: str) -> None:
    """A pattern that a backtracking engine explodes on: bounded, or refused with an error."""
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    tok = outcome(lambda: load(model, pre_tokenizer={**split, "invert": False}))
    if isinstance(tok, protok.ProtokError):
        assert isinstance(tok, protok.ArtifactError)
        assert pattern in str(tok)
        return
    for text in ("a" * 24 + "b", "a" * 10_000, "a" * 10_000 + "b"):
        encoding = outcome(lambda text=text: tok.encode(text))  # type: ignore[misc]
        if isinstance(encoding, protok.ProtokError):
            assert str(encoding)
        else:
            assert encoding.spans("byte").max() == len(text)


@pytest.mark.parametrize("text", ["\ud83d", "a\ud83d", "\ud83d\udc4d", "\udc4d x"])
def test_case_P05(cl100k: protok.Tokenizer, text: str) -> None:
    """Half a surrogate pair is an error with its position, by every way in."""
    ways: list[Callable[[str], object]] = [
        cl100k.encode,
        cl100k.count,
        lambda text: cl100k.count([text]),
        lambda text: cl100k.encode_batch([text]),
        lambda text: cl100k.encode("x", text),
        lambda text: cl100k.encode(text, offsets=True),
        cl100k.trace,
    ]
    at = next(place for place, char in enumerate(text) if "\ud800" <= char <= "\udfff")
    for way in ways:
        with pytest.raises(protok.InputError, match="surrogate") as caught:
            way(text)
        assert f"code point {at}" in str(caught.value)
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert cl100k.decode(cl100k.encode(repaired)) == repaired


@pytest.mark.parametrize(("char", "size"), [("x", 262_144), ("-", 32_768)])
def test_case_P07(shared: Path, char: str, size: int) -> None:
    """Twice one character repeated takes about twice as long."""
    path = shared / "artifacts/tiktoken/o200k_base.tiktoken"
    tok = protok.load(path, encoding="o200k_base")
    once, twice = (seconds(lambda n=n: tok.encode(char * n)) for n in (size, 2 * size))  # type: ignore[misc]
    assert twice < 6 * max(once, 1e-3)


def small_bert() -> protok.Tokenizer:
    words = ("[CLS]", "[SEP]", "hello", "world", "a", "b")
    return load(
        wordpiece(*words),
        normalizer=CLEANING,
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor={
            "type": "BertProcessing",
            "cls": ["[CLS]", SPECIALS["[CLS]"]],
            "sep": ["[SEP]", SPECIALS["[SEP]"]],
        },
    )


def test_case_P08() -> None:
    """A stride that leaves no progress is an error that names the numbers."""
    tok = small_bert()
    with pytest.raises(protok.InputError, match="stride=2 leaves no progress"):
        tok.encode("hello world hello", "world a b hello", max_length=6, stride=2)
    refused = 0
    for length in range(12):
        for stride in range(6):
            options = {"max_length": length, "stride": stride}
            result = outcome(
                lambda options=options: tok.encode(  # type: ignore[misc]
                    "hello world hello", "world a b", **options
                )
            )
            if isinstance(result, protok.InputError):
                refused += 1
                numbers = (f"max_length={length}", f"stride={stride}")
                assert any(number in str(result) for number in numbers)
            else:
                assert not isinstance(result, protok.ProtokError)
                assert len(result) <= length
    assert refused > 10


def test_case_P10() -> None:
    """The windows of a text cover all its tokens, from either side."""
    tok = small_bert()
    text = "hello world hello world hello a b"
    whole = tok.encode(text, add_special_tokens=False)
    found = {}
    for side in ("right", "left"):
        encoding = tok.encode(
            text,
            max_length=4,
            stride=1,
            truncation=side,
            add_special_tokens=False,
        )
        windows = [encoding, *encoding.overflow]
        found[side] = [window.tokens for window in windows]
        covered = {tuple(span) for window in windows for span in window.offsets.tolist()}
        assert covered == {tuple(span) for span in whole.offsets.tolist()}
    first, last = ["hello", "world", "hello", "world"], ["world", "hello", "a", "b"]
    assert found == {"right": [first, last], "left": [last, first]}


def test_case_P11(cl100k: protok.Tokenizer) -> None:
    """Truncating a long text equals cutting the whole."""
    text = "alpha-beta " * 100_000
    whole = cl100k.encode(text)
    encoding = cl100k.encode(text, max_length=512)
    assert encoding.tolist() == whole.tolist()[:512]
    assert encoding.offsets.tolist() == whole.offsets[:512].tolist()
    assert cl100k.count(text) == len(whole)


def resident() -> int:
    """Return the bytes of memory that the process holds."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("length", [20, 2_000, 20_000])
def test_case_P06(length: int) -> None:
    """What is remembered of seen pieces has a size, however many distinct pieces come."""
    tok = protok.load("protok:demo", cache_bytes=1 << 20)
    tok.count("warm " * 1000)
    before = resident()
    for number in range(60_000_000 // length // 20):
        tok.count(f"{number}x" + "abcdefghij" * (length // 10))
    assert resident() - before < 48 << 20


def test_case_S03(cl100k: protok.Tokenizer) -> None:
    """Ordinary text may mention a marker: counting reads it as text, encoding asks what it is."""
    text = "a<|endoftext|>b"
    as_text = [64, 27, 91, 8862, 728, 428, 91, 29, 65]
    assert cl100k.encode(text, special="text").tolist() == as_text
    assert cl100k.encode(text, special="parse").tolist() == [64, 100257, 65]
    assert cl100k.count(text) == len(as_text)
    assert cl100k.count([text, "a"]).tolist() == [len(as_text), 1]
    for refused in (lambda: cl100k.encode(text), lambda: cl100k.encode_batch(["a", text])):
        with pytest.raises(protok.SpecialTokenError, match="special=") as caught:
            refused()
        assert caught.value.value == "<|endoftext|>"
        assert caught.value.position == 1
