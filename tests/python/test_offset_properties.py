"""What holds of offsets for every text.

``pytest --examples 20000 tests/python/test_offset_properties.py`` tries more of them.
"""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protok
from protok import _core

Unit = Literal["byte", "codepoint", "utf16", "grapheme"]
Of = Literal["original", "normalized"]
UNITS: tuple[Unit, ...] = ("byte", "codepoint", "utf16", "grapheme")
NORMALIZERS: dict[str, Any] = {
    "none": None,
    "NFC": {"type": "NFC"},
    "NFD": {"type": "NFD"},
    "NFKC": {"type": "NFKC"},
    "deleting": {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFD"},
            {"type": "StripAccents"},
            {"type": "Replace", "pattern": {"Regex": "[\\x00-\\x1f]"}, "content": ""},
        ],
    },
    "inserting": {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
            {"type": "Lowercase"},
        ],
    },
}
SCRAPS = [
    " ", "  ", "\n", "\r\n", "a", "low", "lower", "Newest", "the ", " cat", "e\u0301", "\u00e9",
    "\u0301", "\u0323\u0307", "q\u0307\u0323", "\u1112\u1161\u11ab", "\ud55c", "\u1100\u1161",
    "\u11a8", "\u0130", "\ufb03", "\u33a1", "\u212b", "\u1e9b\u0323", "\U0001d518", "\U0001f408",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea",
    "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627", "\u202e", "\u200d", "\ufe0f",
    "\x00", "\x10", "\x1f", "\u09c7\u09be", "\u304b\u3099", "\uff76\uff9e", "<sep>", "<s", "12",
]  # fmt: skip
TEXTS = st.lists(
    st.sampled_from(SCRAPS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    max_size=12,
).map("".join)


@cache
def tokenizer(name: str) -> protok.Tokenizer:
    """Train a small byte-level tokenizer with a normalizer."""
    recipe = protok.Recipe(
        vocab_size=300,
        normalizer=NORMALIZERS[name],
        special_tokens=("<sep>",),
        fewer="accept",
    )
    corpus = [
        "low lower lowest new newer newest the cat \ud55c\uad6d \U0001f408 \u00e9t\u00e9 "
    ] * 3
    return protok.train(recipe, corpus)


def encode(name: str, text: str) -> protok.Encoding:
    return tokenizer(name).encode(text, special="parse")


def spans(encoding: protok.Encoding, unit: Unit, of: Of = "original") -> list[tuple[int, int]]:
    return [(start, end) for start, end in encoding.spans(unit, of).tolist()]


def slicing(text: str, unit: Unit, start: int, end: int) -> str:
    """Cut a text by units without the engine's help."""
    if unit == "utf16":
        return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")
    if unit == "byte":
        return text.encode()[start:end].decode("utf-8", "surrogateescape")
    return text[start:end]


@pytest.mark.parametrize("name", NORMALIZERS)
@given(text=TEXTS)
def test_spans_lie_in_the_text_and_never_go_back(name: str, text: str) -> None:
    encoding = encode(name, text)
    assert encoding.original == text
    texts: list[tuple[Of, str]] = [("original", text), ("normalized", encoding.normalized)]
    for of, whole in texts:
        lengths = {
            "byte": len(whole.encode()),
            "codepoint": len(whole),
            "utf16": len(whole.encode("utf-16-le")) // 2,
        }
        for unit in UNITS:
            length = lengths.get(unit, len(whole))
            low = high = 0
            cuts = {len(whole[:cut].encode()) for cut in _core.boundaries(whole, "grapheme")}
            places = spans(encoding, "byte", of)
            for (start, end), (place, _) in zip(spans(encoding, unit, of), places, strict=True):
                assert low <= start <= end <= length
                if unit == "grapheme" and start == end and place not in cuts:
                    continue  # nothing, in the middle of one
                assert high <= end
                low, high = start, end


@pytest.mark.parametrize("name", NORMALIZERS)
@given(text=TEXTS)
def test_bytes_tile_the_text(name: str, text: str) -> None:
    """Those of the normalized text always; those of the original where nothing rewrites it."""
    encoding = encode(name, text)
    whole: list[tuple[Of, str]] = [("normalized", encoding.normalized)]
    if name == "none":
        whole.append(("original", text))
    for of, of_text in whole:
        at = 0
        for start, end in spans(encoding, "byte", of):
            assert start == at < end
            at = end
        assert at == len(of_text.encode())
    # No character of the original is left out, but for those that were deleted.
    if name in {"NFC", "NFD", "NFKC", "inserting"}:
        covered = {at for span in spans(encoding, "codepoint") for at in range(*span)}
        assert covered == set(range(len(text)))


@pytest.mark.parametrize("name", NORMALIZERS)
@given(text=TEXTS)
def test_every_span_decodes_to_its_token(name: str, text: str) -> None:
    tok, encoding = tokenizer(name), encode(name, text)
    normalized = encoding.normalized.encode()
    for place, (start, end) in enumerate(spans(encoding, "byte", "normalized")):
        assert normalized[start:end] == tok.decode_bytes([encoding[place]])
    for place, span in enumerate(spans(encoding, "byte")):
        assert encoding.bytes(place) == text.encode()[slice(*span)]
    for unit in ("codepoint", "utf16"):
        for place, span in enumerate(spans(encoding, unit)):
            assert encoding.text(place) == slicing(text, unit, *span)
    if name.startswith("NF") and "<sep>" not in text:
        form: Any = name
        assert encoding.normalized == unicodedata.normalize(form, text)


@pytest.mark.parametrize("name", NORMALIZERS)
@given(text=TEXTS, data=st.data())
def test_units_convert_there_and_back(name: str, text: str, data: st.DataObject) -> None:
    encoding = encode(name, text)
    source, target = (data.draw(st.sampled_from(UNITS)) for _ in range(2))
    texts: tuple[Of, ...] = ("original", "normalized")
    from_of, to_of = (data.draw(st.sampled_from(texts)) for _ in range(2))
    from_, to = (source, from_of), (target, to_of)
    length = encoding.convert(
        (0, len(text)), from_=("codepoint", "original"), to=from_, partial="expand"
    )[1]
    start = data.draw(st.integers(0, length))
    span = (start, data.draw(st.integers(start, length)))
    wide = encoding.convert(span, from_=from_, to=to, partial="expand")
    try:
        exact = encoding.convert(span, from_=from_, to=to)
    except protok.InputError:
        back = encoding.convert(wide, from_=to, to=from_, partial="expand")
        if from_of == to_of and span[0] < span[1]:
            # Widened, never narrowed.
            assert back[0] <= span[0] < span[1] <= back[1]
            assert back != span or source != target
        return
    assert wide == exact
    assert encoding.convert(exact, from_=to, to=from_, partial="expand") == span
    if from_of == to_of == "original" and "grapheme" not in {source, target}:
        assert slicing(text, source, *span) == slicing(text, target, *exact)


@pytest.mark.parametrize("name", NORMALIZERS)
@given(text=TEXTS)
def test_token_at_inverts_spans(name: str, text: str) -> None:
    encoding = encode(name, text)
    for of in ("original", "normalized"):
        for unit in UNITS:
            found = spans(encoding, unit, of)
            end = max((end for _, end in found), default=0)
            for position in range(end + 2):
                covering = [
                    place for place, (low, high) in enumerate(found) if low <= position < high
                ]
                expected = covering[0] if covering else None
                assert encoding.token_at(position, unit, of) == expected
    words = encoding.word_ids
    for place, (start, end) in enumerate(spans(encoding, "byte", "normalized")):
        if start < end:
            assert encoding.word_at(start, "byte", "normalized") == words[place]
            word = words[place]
            assert word is not None
            tokens = encoding.word_tokens(word)
            assert tokens is not None
            assert tokens[0] <= place < tokens[1]


@pytest.mark.parametrize("name", NORMALIZERS)
@given(text=TEXTS)
def test_both_paths_agree(name: str, text: str) -> None:
    tok, encoding = tokenizer(name), encode(name, text)
    trace = json.loads(tok.trace_json(text, special="parse"))["tokens"]
    assert [token["id"] for token in trace] == encoding.tolist()
    assert [tuple(token["span"]) for token in trace] == spans(encoding, "byte")


@given(data=st.binary(max_size=40))
def test_any_bytes_have_byte_spans(data: bytes) -> None:
    encoding = tokenizer("none").encode_bytes(data, special="parse")
    at = 0
    for place, (start, end) in enumerate(spans(encoding, "byte")):
        assert start == at < end
        assert encoding.bytes(place) == data[start:end]
        at = end
    assert at == len(data)
