"""Every error says what, where and what to do, and carries position and value."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import protok

Call = Callable[[protok.Tokenizer], Any]


@pytest.mark.parametrize("name", [n for n in protok.__all__ if n.endswith("Error")])
def test_hierarchy_and_pickling(name: str) -> None:
    cls = getattr(protok, name)
    error = cls(what="It broke.", location="line 3", hint="Mend it.", position=7, value="x")
    assert str(error) == "line 3: It broke. Mend it."
    assert isinstance(error, protok.ProtokError)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_a_message_alone_is_enough() -> None:
    error = protok.ProtokError("It broke.")
    assert (str(error), error.what, error.position) == ("It broke.", "It broke.", None)


def test_the_engine_passes_the_message_first() -> None:
    error = protok.UnknownIdError("the whole message", what="w", position=1, value="9")
    assert (str(error), error.what, error.value) == ("the whole message", "w", "9")
    assert isinstance(error, (protok.InputError, ValueError))


@pytest.mark.parametrize(
    ("call", "position", "value"),
    [
        (lambda tok: tok.encode("añ\ud800b"), 2, "D800"),
        (lambda tok: tok.encode(b"ab\xff"), 2, "ff"),
        (lambda tok: tok.decode([15496, 99999]), 1, "99999"),
        (lambda tok: tok.decode([15496, 0, -5]), 2, "-5"),
        (lambda tok: tok.decode([2**32]), 0, str(2**32)),
        (lambda tok: tok.encode("añ<|endoftext|>"), 2, "<|endoftext|>"),
    ],
    ids=["surrogate", "utf-8", "unknown id", "negative id", "huge id", "control token"],
)
def test_position_and_value(gpt2: protok.Tokenizer, call: Call, position: int, value: str) -> None:
    with pytest.raises(protok.InputError) as caught:
        call(gpt2)
    error = caught.value
    assert error.position == position
    assert value.lower() in (error.value or "").lower()
    assert value.lower() in str(error).lower()
    assert str(position) in str(error)


def test_kinds(gpt2: protok.Tokenizer) -> None:
    with pytest.raises(protok.UnknownIdError):
        gpt2.decode([99999])
    with pytest.raises(protok.SpecialTokenError) as caught:
        gpt2.encode("<|endoftext|>")
    assert "special=" in str(caught.value)
    assert gpt2.decode([15496, 99999], unknown="skip") == "Hello"


@pytest.mark.parametrize("value", [None, 3, 1.5, ["a"], object()])
def test_wrong_type_of_text(gpt2: protok.Tokenizer, value: Any) -> None:
    with pytest.raises((TypeError, protok.InputError), match=type(value).__name__):
        gpt2.encode(value)


@pytest.mark.parametrize("ids", ["12", [1.5], ["a"], [None], 7])
def test_wrong_type_of_ids(gpt2: protok.Tokenizer, ids: Any) -> None:
    with pytest.raises((TypeError, protok.InputError)):
        gpt2.decode(ids)


def test_a_batch_names_the_item(gpt2: protok.Tokenizer) -> None:
    with pytest.raises(protok.SpecialTokenError, match=r"\b2\b"):
        gpt2.encode_batch(["a", "b", "c<|endoftext|>"])


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"{}", b"[]", b"null", b'{"model": 3}', b"\xff\xfe", b"not a tokenizer"],
)
def test_malformed_artifacts(data: bytes) -> None:
    with pytest.raises(protok.ArtifactError):
        protok.Tokenizer({"tokenizer.json": data})
