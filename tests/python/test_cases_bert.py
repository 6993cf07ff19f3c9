"""Faults that other software had with offsets and added tokens of BERT's family.

Named after the collected cases. tests/python/test_cases_offsets.py has the byte-level form.
"""

from __future__ import annotations

import pytest
from small_artifacts import bert, load, pieces, wordpiece

NFKC = {"type": "NFKC"}
WORDS = {"type": "WhitespaceSplit"}


def test_case_O05() -> None:
    """Characters that one character became share its span, and move nothing after it."""
    tok = load(wordpiece("m", "##2", "ok", "ffix"), normalizer=NFKC, pre_tokenizer=WORDS)
    assert pieces(tok.encode("\u33a1 ok")) == [("m", (0, 1)), ("##2", (0, 1)), ("ok", (2, 4))]
    assert pieces(tok.encode("\ufb03x ok")) == [("ffix", (0, 2)), ("ok", (3, 5))]
    for times in (2, 5):
        found = pieces(tok.encode("\ufb03x " * times + "ok"))
        assert found[-1] == ("ok", (3 * times, 3 * times + 2))


@pytest.mark.parametrize("control", ["\x10", "\x00", "\x7f\x1b", "\ufffd", "\u200b\u00ad"])
def test_case_O06(control: str) -> None:
    """Characters that cleaning deleted inside a word are in its span, and move nothing."""
    tok = bert("hello", "world")
    text = f"he{control}llo wor{control}ld"
    size = len(control)
    found = pieces(tok.encode(text))
    assert found == [("hello", (0, 5 + size)), ("world", (6 + size, 11 + 2 * size))]
    encoding = tok.encode(text)
    assert [encoding.text(0), encoding.text(1)] == [f"he{control}llo", f"wor{control}ld"]


def test_case_O07() -> None:
    """An added token moves nothing after it."""
    tok = bert("left", "right", added=[{"content": "###"}])
    found = pieces(tok.encode("left ### right"))
    assert found == [("left", (0, 4)), ("###", (5, 8)), ("right", (9, 14))]
    for before in ("\u00c9", "\U0001f408 ", "\x10", "\u4e16"):
        at = len(before)
        found = pieces(tok.encode(f"{before}### right"))
        assert found[-2:] == [("###", (at, at + 3)), ("right", (at + 4, at + 9))]


@pytest.mark.parametrize("marks", ["\u0301", "\u0301\u0323", "\u0300\u0301\u0302"])
def test_case_O15(marks: str) -> None:
    """Marks that were stripped are in the span of their letter: the reference leaves them out."""
    tok = bert("cafe", "hello")
    size = len(marks)
    found = pieces(tok.encode(f"Cafe{marks} hello"))
    assert found == [("cafe", (0, 4 + size)), ("hello", (5 + size, 10 + size))]
    found = pieces(tok.encode(f"C{marks}afe hello"))
    assert found == [("cafe", (0, 4 + size)), ("hello", (5 + size, 10 + size))]
    encoding = tok.encode(f"Cafe{marks}")
    assert [encoding.token_at(place) for place in range(4 + size)] == [0] * (4 + size)


def test_case_A04() -> None:
    """A whole-word token respects word characters on both sides."""
    tok = bert("a", added=[{"content": "ab", "single_word": True}])
    found = pieces(tok.encode("ab abb bab ab, (ab) ab_ ab1"))
    assert [span for token, span in found if token == "ab"] == [(0, 2), (11, 13), (16, 18)]
    for neighbour in ("\u00e9", "\u0436", "\u4e16", "\u0663", "_"):
        for text in (f"{neighbour}ab", f"ab{neighbour}"):
            assert "ab" not in tok.encode(text).tokens


def test_case_A05() -> None:
    """A token that is matched in normalized text has an id and a name of its own.

    As an encoding shows it and as it is decoded it is the reference's, which spells it as it
    stands in the normalized text; the vocabulary has its name.
    """
    tok = bert("x", "y", "hello", added=[{"content": "HELLO", "normalized": True}])
    new = tok.added_tokens[0].id
    assert tok.encode("hello HELLO Hello").tolist() == [new] * 3
    assert tok.vocab.token(new) == "HELLO"
    assert tok.vocab["hello"] == 3
    reference = pytest.importorskip("tokenizers").Tokenizer.from_str(
        tok.to_files()["tokenizer.json"].decode()
    )
    assert tok.decode([new] * 3) == reference.decode([new] * 3)
