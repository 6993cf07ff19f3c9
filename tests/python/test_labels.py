"""Entities to labels and back, and encodings as plain data."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protok

Scheme = Literal["bio", "bilou"]
Unit = Literal["byte", "codepoint", "utf16", "grapheme"]
WORDS = [
    "Ada",
    "Lovelace",
    "in",
    "\u0130stanbul",
    "\U0001f408\u200d\u2b1b",
    "e\u0301te\u0301",
    "42",
]


def units(text: str, unit: Unit) -> int:
    """Count the units of a text."""
    if unit == "utf16":
        return len(text.encode("utf-16-le")) // 2
    return len(text.encode()) if unit == "byte" else len(text)


@st.composite
def labelled(draw: st.DrawFn) -> tuple[str, list[tuple[int, int, str]], Unit]:
    """Draw words with blanks between them, some of which are entities."""
    unit: Unit = draw(st.sampled_from(("byte", "codepoint", "utf16")))
    text, entities, at = "", [], 0
    for word in draw(st.lists(st.sampled_from(WORDS), max_size=8)):
        text += draw(st.sampled_from(["", " ", "  ", "\n"])) if not text else " "
        label = draw(st.sampled_from([None, None, "PER", "LOC"]))
        start = units(text, unit)
        text += word
        at = units(text, unit)
        if label is not None:
            entities.append((start, at, label))
    return text, entities, unit


@pytest.mark.parametrize("scheme", ["bio", "bilou"])
@given(case=labelled())
def test_there_and_back(
    demo: protok.Tokenizer, scheme: Scheme, case: tuple[str, list[tuple[int, int, str]], Unit]
) -> None:
    text, entities, unit = case
    encoding = demo.encode(text)
    labels, misfits = encoding.align(entities, unit=unit, scheme=scheme)
    assert len(labels) == len(encoding)
    assert misfits == []
    assert encoding.entities(labels, unit=unit, scheme=scheme) == entities


def test_schemes(gpt2: protok.Tokenizer) -> None:
    encoding = gpt2.encode("Akwirw ier sat")
    assert len(encoding) == 7
    entities = [(0, 6, "PER"), (11, 14, "ACT")]
    labels, misfits = encoding.align(entities)
    assert labels == ["B-PER", "I-PER", "I-PER", "I-PER", "O", "O", "B-ACT"]
    assert misfits == []
    labels, _ = encoding.align(entities, scheme="bilou")
    assert labels == ["B-PER", "I-PER", "I-PER", "L-PER", "O", "O", "U-ACT"]


def test_misfits_are_told(gpt2: protok.Tokenizer) -> None:
    encoding = gpt2.encode("The cat sat")
    entities = [(4, 6, "A"), (6, 7, "B"), (7, 8, "C"), (9, 9, "D")]
    labels, misfits = encoding.align(entities)
    assert labels == ["O", "B-A", "O"]
    assert misfits == [
        (0, (4, 7), "boundary"),
        (1, (6, 6), "shared"),
        (2, (7, 7), "no token"),
        (3, (9, 9), "no token"),
    ]
    cut = gpt2.encode("The cat sat", max_length=2)
    assert cut.align([(8, 11, "A")])[1] == [(0, (8, 8), "no token")]
    with pytest.raises(protok.InputError, match="overlap"):
        encoding.align([(0, 5, "A"), (4, 7, "B")])
    with pytest.raises(protok.InputError, match="cuts"):
        gpt2.encode("\U0001f408").align([(0, 1, "A")], unit="utf16")
    with pytest.raises(protok.InputError, match="2 labels for 3 tokens"):
        encoding.entities(["O", "O"])
    with pytest.raises(protok.InputError, match="none"):
        encoding.entities(["O", "X-A", "O"])
    with pytest.raises(protok.InputError, match="scheme"):
        encoding.align([], scheme="iob")  # type: ignore[arg-type]


def test_a_second_text_has_its_own_positions(gpt2: protok.Tokenizer) -> None:
    encoding = gpt2.encode("The cat", "The cat sat")
    labels, misfits = encoding.align([(8, 11, "A")], sequence=1)
    assert (labels, misfits) == (["O"] * 4 + ["B-A"], [])
    assert encoding.entities(labels, sequence=1) == [(8, 11, "A")]
    assert encoding.token_at(0, sequence=1) == 2
    assert encoding.convert((8, 11), from_=("byte", "original"), to=("utf16", "original"),
                            sequence=1) == (8, 11)  # fmt: skip
    with pytest.raises(protok.InputError, match="text 2"):
        encoding.token_at(0, sequence=2)


# -- plain data -----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def nfc() -> protok.Tokenizer:
    """Return a small tokenizer with a normalizer, a template, and a control token."""
    recipe = protok.Recipe(
        vocab_size=270, normalizer={"type": "NFC"}, special_tokens=("<s>", "</s>"), fewer="accept"
    )
    document = json.loads(protok.train(recipe, ["low lower lowest"]).to_files()["tokenizer.json"])
    document["post_processor"] = {
        "type": "BertProcessing",
        "sep": ["</s>", 1],
        "cls": ["<s>", 0],
    }
    return protok.Tokenizer({"tokenizer.json": json.dumps(document).encode()})


def encodings(tok: protok.Tokenizer) -> list[protok.Encoding]:
    text = "lowe\u0301st \U0001f408 lower"
    return [
        tok.encode(text),
        tok.encode(text, add_special_tokens=False),
        tok.encode(text, "low \u1112\u1161\u11ab"),
        tok.encode(text, max_length=6, stride=1),
        tok.encode(text, "low lower", max_length=9, truncation="left"),
        tok.encode("low<s>", special="parse"),
        tok.encode("low<s>", special=["<s>"]),
        tok.encode(""),
        tok.encode_batch([text, ("low", text)], max_length=8)[1],
    ]


def test_dict_keeps_together_what_belongs_together(nfc: protok.Tokenizer) -> None:
    encoding = nfc.encode("e\u0301 low")
    data = encoding.to_dict(unit="utf16")
    assert data["original"] == ["e\u0301 low"]
    assert data["normalized"] == ["\u00e9 low"]
    assert data["ids"] == encoding.tolist()
    assert data["tokens"] == encoding.tokens
    assert data["spans"] == encoding.spans("utf16").tolist()
    assert (data["unit"], data["of"]) == ("utf16", "original")
    assert data["fingerprint"] == nfc.fingerprint
    assert data["overflow"] == []


def test_dict_there_and_back(nfc: protok.Tokenizer) -> None:
    for encoding in encodings(nfc):
        data = encoding.to_dict()
        assert json.loads(json.dumps(data)) == data
        again = protok.Encoding.from_dict(json.loads(json.dumps(data)), nfc)
        assert again == encoding
        assert again.to_dict() == data
        assert again.offsets.tolist() == encoding.offsets.tolist()
        assert again.overflow == encoding.overflow
        assert again.word_ids == encoding.word_ids


def test_another_tokenizer_is_refused(nfc: protok.Tokenizer, gpt2: protok.Tokenizer) -> None:
    data = nfc.encode("low").to_dict()
    with pytest.raises(protok.InputError, match="another tokenizer") as caught:
        protok.Encoding.from_dict(data, gpt2)
    assert caught.value.value == nfc.fingerprint


def changed_ids(place: int) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        data["ids"][place] += 1

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(changed_ids(place) for place in (0, 1, -1)),
        lambda data: data["ids"].append(5),
        lambda data: data["ids"].pop(),
        lambda data: data["original"].__setitem__(0, "something else"),
        lambda data: data["original"].append("one more"),
        lambda data: data["parts"].pop(),
        lambda data: data["parts"][1].__setitem__("first", 1),
        lambda data: data["parts"][1].__setitem__("end", 99),
        lambda data: data["parts"][1].__setitem__("sequence", 1),
        lambda data: data["parts"][1].__setitem__("type_id", 1),
        lambda data: data["overflow"][0]["ids"].__setitem__(1, 2),
        lambda data: data["spans"].__setitem__(1, [0, 99]),
        lambda data: data["tokens"].__setitem__(1, "x"),
        lambda data: data["overflow"][0]["spans"].__setitem__(1, [0, 99]),
        lambda data: data["normalized"].__setitem__(0, "x"),
        lambda data: data.__setitem__("unit", "utf16"),
    ],
)
def test_tampered_data_is_refused(
    nfc: protok.Tokenizer, change: Callable[[dict[str, Any]], None]
) -> None:
    data = nfc.encode("\U0001f408 lower lowest low", max_length=8).to_dict()
    assert data["overflow"]
    tampered = copy.deepcopy(data)
    change(tampered)
    with pytest.raises(protok.InputError, match="not what"):
        protok.Encoding.from_dict(tampered, nfc)


@pytest.mark.parametrize("name", ["ids", "fingerprint", "original", "parts", "special", "overflow"])
def test_missing_data_is_named(nfc: protok.Tokenizer, name: str) -> None:
    data = nfc.encode("low").to_dict()
    del data[name]
    with pytest.raises(protok.InputError, match=name):
        protok.Encoding.from_dict(data, nfc)
