"""Texts that the caller cut into words."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protok

WORDS = ["Kim", "met", " 한국", "", "e\u0301t\u00e9", "\U0001f408s", "again"]
ARTIFACTS = (
    "gpt2/tokenizer.json",
    "bert-base-cased/vocab.txt",
    "t5-base/tokenizer.json",
    "t5-base/spiece.model",
    "sentencepiece/mistral_v3.model",
    "sentencepiece/word_toy.model",
    "mistral-tekken/tekken_240718.json",
    "rwkv-world/rwkv_vocab_v20230424.txt",
    "gguf/ggml-vocab-llama-spm.gguf",
    "toy/wordlevel.json",
)


@pytest.fixture(scope="module", params=ARTIFACTS)
def tok(shared: Path, request: pytest.FixtureRequest) -> protok.Tokenizer:
    path = shared / "artifacts" / request.param
    if path.suffix == ".json" and path.name == "tokenizer.json":
        return protok.Tokenizer({"tokenizer.json": path.read_bytes()})
    return protok.load(path)


def test_each_word_is_a_text_of_its_own(tok: protok.Tokenizer) -> None:
    encoding = tok.encode(WORDS, special="text", is_pretokenized=True)
    plain = tok.encode(WORDS, special="text", is_pretokenized=True, add_special_tokens=False)
    alone = [tok.encode(word, special="text", add_special_tokens=False) for word in WORDS]
    assert plain.tolist() == [id for one in alone for id in one]
    assert plain.offsets.tolist() == [span for one in alone for span in one.offsets.tolist()]
    assert plain.word_ids == [at for at, one in enumerate(alone) for _ in one]
    for unit in ("byte", "utf16", "grapheme"):
        for of in ("original", "normalized"):
            spans = plain.spans(unit, of).tolist()
            assert spans == [span for one in alone for span in one.spans(unit, of).tolist()]
    pieces = [piece for one in alone for piece in (one.text(i) for i in range(len(one)))]
    assert [plain.text(i) for i in range(len(plain))] == pieces
    assert plain.words() == WORDS
    assert plain.words("normalized") == [one.normalized for one in alone]
    # The template goes around all words.
    whole = [id for id, special in zip(encoding, encoding.special_mask, strict=True) if not special]
    assert whole == plain.tolist()


def test_windows_batches_and_pairs(tok: protok.Tokenizer) -> None:
    added = int(tok.encode("", special="text").special_mask.sum())
    options: dict[str, Any] = {
        "max_length": 5 + added,
        "stride": 1,
        "special": "text",
        "is_pretokenized": True,
    }
    encoding = tok.encode(WORDS, **options)
    plain = tok.encode(WORDS, special="text", is_pretokenized=True, add_special_tokens=False)
    first = 0
    assert encoding.overflow
    for window in (encoding, *encoding.overflow):
        kept = [at for at, word in enumerate(window.word_ids) if word is not None]
        for place, at in enumerate(kept, first):
            assert window.word_ids[at] == plain.word_ids[place]
            assert window.offsets[at].tolist() == plain.offsets[place].tolist()
            assert window.text(at) == plain.text(place)
        first += 4
    batch = tok.encode_batch([WORDS, ["x"], (WORDS, ["x", "y"]), []], **options)
    assert batch[0] == encoding
    assert batch[0].overflow == encoding.overflow
    assert batch[0].word_ids == encoding.word_ids
    assert batch[2] == tok.encode(WORDS, ["x", "y"], **options)
    assert batch[2].sequence_ids == tok.encode(WORDS, ["x", "y"], **options).sequence_ids
    assert len(batch[3]) == added
    many = tok.encode_batch([WORDS] * 50, special="text", is_pretokenized=True, threads=2)
    assert all(row == many[0] for row in many)
    assert many[7].words() == WORDS


def test_round_trip_as_plain_data(tok: protok.Tokenizer) -> None:
    encoding = tok.encode(WORDS, ["b", "\u00e9"], special="text", is_pretokenized=True)
    data = json.loads(json.dumps(encoding.to_dict()))
    assert data["original"] == [WORDS, ["b", "\u00e9"]]
    assert protok.Encoding.from_dict(data, tok) == encoding
    data["original"][0][0] = "Tim"
    with pytest.raises(protok.InputError):
        protok.Encoding.from_dict(data, tok)


@given(st.lists(st.text(max_size=8), max_size=6))
def test_positions_are_in_a_word(demo: protok.Tokenizer, words: list[str]) -> None:
    encoding = demo.encode(words, special="text", is_pretokenized=True)
    for place, word in enumerate(words):
        alone = demo.encode(word, special="text")
        first = encoding.word_ids.index(place) if word else 0
        for position in range(len(word) + 1):
            at = alone.token_at(position)
            ours = encoding.token_at(position, word=place)
            assert ours == (None if at is None else at + first)
            found = encoding.word_at(position, word=place)
            assert found == (None if at is None else place)
        bytes_of = {"from_": ("codepoint", "original"), "to": ("byte", "original")}
        span = encoding.convert((0, len(word)), **bytes_of, word=place)  # type: ignore[arg-type]
        assert span == (0, len(word.encode()))
        expected = (first, first + len(alone)) if word else None
        assert encoding.word_tokens(place) == expected


def test_a_grapheme_does_not_reach_into_the_next_word(demo: protok.Tokenizer) -> None:
    encoding = demo.encode(["e", "\u0301a"], is_pretokenized=True)
    of_second = [at for at, word in enumerate(encoding.word_ids) if word == 1]
    spans = encoding.spans("grapheme")
    assert spans[0].tolist() == [0, 1]
    assert spans[of_second[0]].tolist() == [0, 1]
    assert spans[of_second[-1]].tolist() == [1, 2]


@pytest.mark.parametrize("words", [["go", "now", " please"], ["a"], ["\u00e9", "", "x y"]])
def test_case_O11(demo: protok.Tokenizer, words: list[str]) -> None:
    """A position without a word is refused where each word counts from 0."""
    encoding = demo.encode(words, is_pretokenized=True)
    spans: dict[int | None, list[list[int]]] = {}
    for word, span in zip(encoding.word_ids, encoding.offsets.tolist(), strict=True):
        spans.setdefault(word, []).append(span)
    for place, spelled in enumerate(words):
        if spelled:
            assert (spans[place][0][0], spans[place][-1][1]) == (0, len(spelled))
    as_text = {"from_": ("codepoint", "original"), "to": ("byte", "original")}
    for refused in (
        lambda: encoding.token_at(0),
        lambda: encoding.word_at(0),
        lambda: encoding.convert((0, 1), **as_text),  # type: ignore[arg-type]
        lambda: encoding.original,
        lambda: encoding.normalized,
        lambda: encoding.align([(0, 1, "X")]),
        lambda: encoding.token_at(0, word=len(words)),
        lambda: demo.encode("go").token_at(0, word=0),
        lambda: demo.encode("go").words(),
        lambda: demo.encode("go").align([(0, 1, "X")], unit="word"),
    ):
        with pytest.raises(protok.InputError):
            refused()


def test_entities_are_spans_of_words(tok: protok.Tokenizer) -> None:
    encoding = tok.encode(WORDS, ["Kim"], special="text", is_pretokenized=True)
    entities = [(0, 1, "PER"), (2, 3, "LOC"), (4, 7, "MISC")]
    present = [at for at, word in enumerate(WORDS) if at in encoding.word_ids]
    assert present
    for scheme in ("bio", "bilou"):
        labels, misfits = encoding.align(entities, unit="word", scheme=scheme)
        assert encoding.entities(labels, unit="word", scheme=scheme) == entities
        assert misfits == []
        for label, word, sequence in zip(
            labels, encoding.word_ids, encoding.sequence_ids, strict=True
        ):
            inside = word is not None and sequence == 0 and word in (0, 2, 4, 5, 6)
            assert (label != "O") == inside
    labels, misfits = encoding.align([(0, 1, "PER")], unit="word", sequence=1)
    tokens = [sequence == 1 for sequence in encoding.sequence_ids]
    assert [label != "O" for label in labels] == tokens
    # An empty word has no token to carry a label.
    _, misfits = encoding.align([(3, 4, "X")], unit="word")
    assert misfits == [(0, (3, 3), "no token")]
    with pytest.raises(protok.InputError, match="7 words"):
        encoding.align([(5, 8, "X")], unit="word")


def words_one_by_one() -> Iterator[str]:
    yield from ("low", "er")


def test_what_a_list_of_words_is(demo: protok.Tokenizer) -> None:
    expected = demo.encode(["low", "er"], is_pretokenized=True)
    assert demo.encode(("low", "er"), is_pretokenized=True) == expected
    assert demo.encode([b"low", "er"], is_pretokenized=True) == expected
    made = demo.encode(words_one_by_one(), is_pretokenized=True)  # type: ignore[call-overload]
    assert made == expected
    # Two strings in a tuple are two words; two lists are two texts.
    batch = demo.encode_batch([("low", "er"), (["low"], ["er"])], is_pretokenized=True)
    assert batch[0] == expected
    assert batch[1].sequence_ids == [0, 1]
    assert pickle.loads(pickle.dumps(demo)).encode(["low", "er"], is_pretokenized=True) == expected


def test_errors_say_which_word(demo: protok.Tokenizer) -> None:
    bad: Any
    for bad, where in (
        ("low er", "list of words"),
        (b"low", "list of words"),
        (7, "list of words"),
        (["low", 7], r"words\[1\]"),
        (["low", ["er"]], r"words\[1\]"),
    ):
        with pytest.raises(protok.InputError, match=where):
            demo.encode(bad, is_pretokenized=True)
    with pytest.raises(protok.InputError, match="is_pretokenized=True"):
        demo.encode(["low", "er"])  # type: ignore[call-overload]
    spelled = "é" + demo.control_tokens[0].content
    with pytest.raises(protok.SpecialTokenError) as caught:
        demo.encode(["low", spelled], is_pretokenized=True)
    assert caught.value.position == 1
    assert caught.value.location == "words[1], character 1"
    with pytest.raises(protok.SpecialTokenError) as caught:
        demo.encode_batch([["a"], (["a"], ["low", spelled])], is_pretokenized=True)
    assert caught.value.location == "texts[1].pair.words[1], character 1"
    with pytest.raises(protok.SpecialTokenError) as caught:
        demo.encode("a", spelled)
    assert caught.value.location == "pair, character 1"
