"""Offsets equal the references', or differ by a rule that docs/differences.md explains."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from golden.offset_rules import Artifact, Span, classes, sentencepiece_classes
from golden.records import (
    HUGGING_FACE,
    SENTENCEPIECE,
    TIKTOKEN,
    file_alone,
    hugging_face,
    hugging_face_file,
    inputs,
    records,
    tiktoken,
)

# Which classes of difference each golden shows; the rules are in offset_rules.py.
SHOWN_BY_HUGGING_FACE = {
    "albert": {"composed", "inserted", "replaced", "shifted", "stripped"},
    "claude-old": {"composed"},
    "clip": {"composed"},
    "minilm-bert-uncased": {"stripped"},
    "mistral-v0.1": {"inserted"},
    "openai-gpt": {"stripped"},
    "qwen3": {"composed"},
    "roberta-robbert-1k": {"trimmed", "dropped"},
    "t5-base": {"composed", "inserted", "shifted"},
    "xlmr-like-1k": {"composed", "inserted", "replaced"},
    "toy.bpe_bytefallback": {"inserted"},
    "toy.bpe_bytefallback_partial": {"dropped"},
    "toy.bpe_ignore_merges": {"dropped"},
    "toy.bpe_metaspace_first": {"inserted"},
    "toy.flags_bytelevel": {"trimmed", "composed"},
    "toy.unigram_bytefallback": {"fallback"},
    "toy.unigram_plain": {"inserted"},
    "toy.wordpiece_max10": {"stripped"},
}
SHOWN_BY_SENTENCEPIECE = {
    "t5-base": {"deleted", "expanded"},
    "albert": {"deleted", "expanded"},
    "unigram_1k_nfkc": {"deleted", "expanded"},
    "mistral-v1": {"fallback"},
    "unigram_8k_ja_nfkc": {"deleted", "expanded"},
    "unigram_bytefallback_toy": {"deleted", "expanded", "fallback"},
    "llama2_bpe_bytefallback": {"fallback"},
    "mistral_v3": {"fallback"},
    "bpe_toy_uds": {"deleted", "expanded"},
    "word_toy": {"deleted"},
}


@cache
def artifact(shared: Path, name: str) -> Artifact:
    return Artifact(hugging_face(shared, name))


@pytest.mark.parametrize("name", HUGGING_FACE)
def test_hugging_face(shared: Path, name: str) -> None:
    subject = artifact(shared, name)
    texts = inputs(shared / "golden")
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
    assert found[""] > 600
    assert set(found) - {""} == SHOWN_BY_HUGGING_FACE.get(name, set())


@pytest.mark.parametrize("name", SENTENCEPIECE)
def test_sentencepiece(shared: Path, name: str) -> None:
    tok = file_alone(shared, SENTENCEPIECE[name])
    texts = inputs(shared / "golden")
    found: Counter[str] = Counter()
    unknown = []
    for record in records(shared / "golden" / f"spm.{name}.jsonl"):
        theirs = [(start, end) for start, end in record["offsets"]]
        text = texts[record["id"]]
        for place, kind in enumerate(sentencepiece_classes(tok, text, theirs)):
            if kind is None:
                unknown.append((record["id"], place, record["pieces"][place], theirs[place]))
            else:
                found[kind] += 1
    assert not unknown, unknown[:10]
    assert found[""] > 100
    assert set(found) - {""} == SHOWN_BY_SENTENCEPIECE[name]


@pytest.mark.parametrize("name", TIKTOKEN)
def test_tiktoken(shared: Path, name: str) -> None:
    tok = tiktoken(shared, name)
    texts = inputs(shared / "golden")
    for record in records(shared / "golden" / f"tiktoken.{name}.jsonl"):
        offsets = tok.encode(texts[record["id"]], special="text").offsets
        assert offsets[:, 0].tolist() == record["starts"], record["id"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("roberta-robbert-1k", "  x  y e\u0301"),
        ("minilm-bert-uncased", "Caf\u00e9 x"),
        ("albert", "a  b c"),
        ("t5-base", "x  y z"),
        ("toy.unigram_bytefallback", "a\u20acb"),
    ],
)
def test_an_unknown_difference_is_noticed(shared: Path, name: str, text: str) -> None:
    subject = artifact(shared, name)
    offsets = subject.tok.encode(text, add_special_tokens=False).offsets.tolist()
    for place in range(len(offsets)):
        for edge, step in ((0, -1), (1, 1), (1, 2)):
            wrong = [tuple(span) for span in offsets]
            wrong[place] = tuple(end + step * (at == edge) for at, end in enumerate(offsets[place]))
            kind = classes(subject, text, wrong)[place]
            # A mark by itself is known to have the next character's span.
            empty = offsets[place][0] == offsets[place][1] and (edge, step) == (1, 1)
            assert kind == ("inserted" if empty else None), (place, edge, step)


@pytest.mark.parametrize(
    ("name", "text"), [("t5-base", "a \u00bd  b"), ("unigram_bytefallback_toy", "a\u20acb")]
)
def test_an_unknown_difference_to_sentencepiece_is_noticed(
    shared: Path, name: str, text: str
) -> None:
    tok = file_alone(shared, SENTENCEPIECE[name])
    offsets = [tuple(span) for span in tok.encode(text).offsets.tolist()]
    assert not any(sentencepiece_classes(tok, text, offsets))
    for place in range(len(offsets)):
        wrong = list(offsets)
        wrong[place] = (offsets[place][0] + 1, offsets[place][1] + 1)
        assert sentencepiece_classes(tok, text, wrong)[place] is None


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
        ("t5-base", "e\u0301", [(0, 1), (0, 1)], [(0, 0), (0, 2)], "composed"),
        ("mistral-v0.1", "\n", [(0, 1), (0, 1)], [(0, 0), (0, 1)], "inserted"),
        ("roberta-robbert-1k", "\u0434\u0430x", [(0, 1)], [(2, 3)], "dropped"),
        (
            "minilm-bert-uncased",
            "Cafe\u0301 hello",
            [(0, 4), (6, 11)],
            [(0, 5), (6, 11)],
            "stripped",
        ),
        ("albert", "a  b", [(0, 1), (2, 4)], [(0, 1), (1, 4)], "replaced"),
        ("t5-base", "\x01\x02hi", [(0, 2)], [(2, 4)], "shifted"),
        (
            "toy.unigram_bytefallback",
            "\t\n",
            [(0, 2), (0, 2)],
            [(0, 1), (1, 2)],
            "fallback",
        ),
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
    reference = tokenizers.Tokenizer.from_str(hugging_face_file(shared, name).decode())
    reference.no_padding()
    encoding = reference.encode(text, add_special_tokens=False)
    mine = subject.tok.encode(text, add_special_tokens=False)
    assert mine.tolist() == encoding.ids
    assert encoding.offsets == theirs
    assert [tuple(span) for span in mine.offsets.tolist()] == ours
    assert kind in classes(subject, text, encoding.offsets)


@pytest.mark.parametrize(
    ("name", "text", "theirs", "ours", "kind"),
    [
        (
            "mistral-v1",
            "\u2003",
            [(0, 0), (0, 0), (0, 0), (0, 1)],
            [(0, 0), (0, 1), (0, 1), (0, 1)],
            "fallback",
        ),
        (
            "t5-base",
            "\u00bd",
            [(0, 0), (0, 0), (0, 1)],
            [(0, 1), (0, 1), (0, 1)],
            "expanded",
        ),
        (
            "unigram_8k_ja_nfkc",
            "a  b",
            [(0, 0), (0, 1), (1, 3), (3, 4)],
            [(0, 0), (0, 1), (1, 2), (3, 4)],
            "deleted",
        ),
    ],
)
def test_pinned_of_sentencepiece(
    shared: Path,
    name: str,
    text: str,
    theirs: list[Span],
    ours: list[Span],
    kind: str,
) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    path = shared / "artifacts" / SENTENCEPIECE[name]
    reference = sentencepiece.SentencePieceProcessor(model_file=str(path))
    encoding = reference.encode_as_offset_mapping(text)
    tok = file_alone(shared, SENTENCEPIECE[name])
    mine = tok.encode(text)
    assert mine.tolist() == encoding["ids"]
    assert [tuple(span) for span in encoding["offsets"]] == theirs
    assert [tuple(span) for span in mine.offsets.tolist()] == ours
    assert kind in sentencepiece_classes(tok, text, theirs)
