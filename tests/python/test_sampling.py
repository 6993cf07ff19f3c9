"""Other ways to cut a text: random ones, and the best few."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protok

SPM = {
    "albert": "albert/spiece.model",
    "t5-base": "t5-base/spiece.model",
    "unigram_1k_nfkc": "xlmr-like-1k/sentencepiece.bpe.model",
    "unigram_8k_ja_nfkc": "sentencepiece/unigram_8k_ja_nfkc.model",
    "unigram_bytefallback_toy": "sentencepiece/unigram_bytefallback_toy.model",
}
SCORES = {"<unk>": 0.0, "a": -1.0, "b": -1.25, "ab": -1.5, "ba": -3.0, "\u2581": -2.0}


def unigram(pre_tokenizer: dict[str, Any] | None = None) -> protok.Tokenizer:
    """Load a Unigram model over a, b and the word mark."""
    document = {
        "version": "1.0",
        "added_tokens": [
            {
                "id": len(SCORES),
                "content": "<x>",
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": False,
            }
        ],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "Unigram",
            "unk_id": 0,
            "vocab": [list(entry) for entry in SCORES.items()],
        },
    }
    return protok.Tokenizer({"tokenizer.json": json.dumps(document).encode()})


SPLIT = {"type": "Split", "pattern": {"String": "-"}, "behavior": "Removed", "invert": False}


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


@pytest.mark.parametrize("name", SPM)
def test_nbest_golden(shared: Path, name: str) -> None:
    tok = protok.load(shared / "artifacts" / SPM[name])
    texts = {record["id"]: record["text"] for record in records(shared / "golden/inputs.jsonl")}
    found = [r for r in records(shared / "golden" / f"spm.{name}.jsonl") if "nbest5" in r]
    assert len(found) >= 7
    for record in found:
        ways = tok.nbest(texts[record["id"]], 5, add_special_tokens=False, special="text")
        assert [way.tolist() for way, _ in ways] == record["nbest5"]
        scores = [score for _, score in ways]
        assert scores == sorted(scores, reverse=True)


def test_nbest_equals_sentencepiece(shared: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    path = shared / "artifacts/t5-base/spiece.model"
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    tok = protok.load(path)
    for text in ("tokenization is fun", "a  b", "Größe 12,5 \U0001f408", "aaaaaaaaaaaaaaaa"):
        for k in (2, 7, 64):
            expected = theirs.nbest_encode_as_ids(text, nbest_size=k)
            ways = tok.nbest(text, k, add_special_tokens=False)
            assert [way.tolist() for way, _ in ways] == expected


def ways_of(word: str) -> dict[tuple[str, ...], float]:
    """Every way to cut a word into tokens, with its score."""
    if not word:
        return {(): 0.0}
    return {
        (piece, *rest): SCORES[piece] + score
        for piece in SCORES
        if word.startswith(piece)
        for rest, score in ways_of(word[len(piece) :]).items()
    }


@given(st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=4), st.integers(1, 40))
def test_nbest_over_pieces_is_the_best_of_all_choices(words: list[str], k: int) -> None:
    choices: dict[tuple[str, ...], float] = {(): 0.0}
    for word in words:
        choices = {
            before + way: sum_ + score
            for before, sum_ in choices.items()
            for way, score in ways_of(word).items()
        }
    expected = sorted(choices.values(), reverse=True)[:k]
    tok = unigram(SPLIT)
    text = "-".join(words)
    ways = tok.nbest(text, k)
    assert [score for _, score in ways] == pytest.approx(expected)
    seen = set()
    for way, score in ways:
        tokens = tuple(way.tokens)
        assert choices[tokens] == pytest.approx(score)
        seen.add(tokens)
        # Offsets are those of this way.
        assert [way.text(i) for i in range(len(way))] == list(tokens)
        assert protok.Encoding.from_dict(json.loads(json.dumps(way.to_dict())), tok) == way
    assert len(seen) == len(ways)


def test_nbest_around_added_tokens() -> None:
    ways = unigram().nbest("ab<x>ab", 4)
    assert [way.tokens for way, _ in ways] == [
        ["ab", "<x>", "ab"],
        ["ab", "<x>", "a", "b"],
        ["a", "b", "<x>", "ab"],
        ["a", "b", "<x>", "a", "b"],
    ]
    assert [score for _, score in ways] == [-3.0, -3.75, -3.75, -4.5]
    assert [way.offsets.tolist()[-1] for way, _ in ways] == [[5, 7], [6, 7], [5, 7], [6, 7]]
    assert unigram().nbest("", 3)[0][0].tolist() == []


def test_sampling_follows_the_law_of_the_whole_text() -> None:
    tok = unigram(SPLIT)
    draws = 4000
    for alpha in (0.0, 1.0):
        found = Counter(
            tuple(tok.sample("ab-aba", seed=seed, alpha=alpha).tokens) for seed in range(draws)
        )
        law = {
            first + second: math.exp(alpha * (a + b))
            for first, a in ways_of("ab").items()
            for second, b in ways_of("aba").items()
        }
        total = sum(law.values())
        assert set(found) <= set(law)
        for way, weight in law.items():
            share = weight / total
            spread = math.sqrt(share * (1 - share) / draws)
            assert abs(found[way] / draws - share) < 5 * spread


def families(shared: Path) -> dict[str, protok.Tokenizer]:
    return {
        "alpha": protok.load(shared / "artifacts/t5-base/spiece.model"),
        "dropout": protok.load(shared / "artifacts/sentencepiece/mistral_v3.model"),
    }


def test_samples_are_the_text_and_repeat(shared: Path, demo: protok.Tokenizer) -> None:
    text = "low lower tokenization, naive \U0001f408"
    for name, tok in {**families(shared), "demo": demo}.items():
        strength: dict[str, Any] = {"dropout" if name == "demo" else name: 0.4}
        own = tok.encode(text)
        drawn = [tok.sample(text, seed=seed, **strength) for seed in range(20)]
        assert len({tuple(way) for way in drawn}) > 10
        for seed, way in enumerate(drawn):
            assert tok.decode(way, skip_special_tokens=True) == tok.decode(
                own, skip_special_tokens=True
            )
            assert tok.sample(text, seed=seed, **strength).tolist() == way.tolist()
            covered = [way.bytes(i) for i in range(len(way))]
            assert b"".join(covered) == text.encode()
            restored = protok.Encoding.from_dict(json.loads(json.dumps(way.to_dict())), tok)
            assert restored == way
        words = tok.sample(text.split(), seed=3, is_pretokenized=True, **strength)
        assert words.words() == text.split()
        assert [words.text(i) for i in range(len(words))]


def test_the_ends_of_the_scale(shared: Path, demo: protok.Tokenizer) -> None:
    t5 = families(shared)["alpha"]
    text = "tokenization of words"
    assert all(t5.sample(text, seed=s, alpha=1e6) == t5.encode(text) for s in range(5))
    assert all(demo.sample(text, seed=s, dropout=0) == demo.encode(text) for s in range(5))
    assert demo.sample(text, seed=0, dropout=1).tokens == [c.replace(" ", "Ġ") for c in text]
    mistral = families(shared)["dropout"]
    assert mistral.sample(text, seed=0, dropout=0) == mistral.encode(text)


def test_the_artifacts_own_dropout_is_the_default(demo: protok.Tokenizer) -> None:
    document = json.loads(demo.to_files()["tokenizer.json"])
    document["model"]["dropout"] = 1.0
    tok = protok.Tokenizer({"tokenizer.json": json.dumps(document).encode()})
    assert tok.sample("lower", seed=1).tokens == list("lower")
    assert tok.sample("lower", seed=1, dropout=0).tokens == demo.encode("lower").tokens
    assert tok.encode("lower", seed=1).tokens == list("lower")
    assert tok.encode("lower").tokens == demo.encode("lower").tokens


def test_a_result_does_not_depend_on_its_batch(demo: protok.Tokenizer) -> None:
    document = json.loads(demo.to_files()["tokenizer.json"])
    document["model"]["dropout"] = 0.3
    tok = protok.Tokenizer({"tokenizer.json": json.dumps(document).encode()})
    texts = [f"tokenization of words {at % 3}" for at in range(60)]
    batches = [tok.encode_batch(texts, seed=5, threads=threads) for threads in (1, 2)]
    batches.append(tok.encode_batch(texts[3:] + texts[:3], seed=5))
    for batch in batches:
        for at, row in enumerate(batch):
            assert row == tok.sample(texts[at], seed=5)
            assert row.offsets.tolist() == tok.sample(texts[at], seed=5).offsets.tolist()


def test_what_has_no_other_way_refuses(shared: Path, demo: protok.Tokenizer) -> None:
    for path in ("bert-base-cased/vocab.txt", "toy/wordlevel.json", "sentencepiece/word_toy.model"):
        tok = protok.load(shared / "artifacts" / path)
        with pytest.raises(protok.InputError, match="one way to cut"):
            tok.sample("a", seed=1)
        with pytest.raises(protok.InputError, match="one way to cut"):
            tok.nbest("", 2)
    t5 = families(shared)["alpha"]
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: demo.nbest("a", 2), "does not rank"),
        (lambda: demo.sample("a", seed=1, alpha=0.5), "no use for alpha"),
        (lambda: t5.sample("a", seed=1, dropout=0.5), "no use for dropout"),
        (lambda: demo.sample("a", seed=1, dropout=1.5), "no chance"),
        (lambda: t5.sample("a", seed=1, alpha=-1), "alpha=-1"),
        (lambda: t5.sample("a", seed=1, alpha=float("nan")), "alpha=NaN"),
        (lambda: t5.nbest("a", 0), "0 ways"),
        (lambda: t5.nbest("a", 1025), "1025 ways"),
    ]
    for call, why in refused:
        with pytest.raises(protok.InputError, match=why):
            call()


def test_no_control_id_comes_out_of_plain_text(shared: Path) -> None:
    data = (shared / "artifacts/t5-base/tokenizer.json").read_bytes()
    tok = protok.Tokenizer({"tokenizer.json": data})
    control = {token.id for token in tok.control_tokens}
    text = "a</s> b<pad>"
    ways = [way for way, _ in tok.nbest(text, 50, special="text", add_special_tokens=False)]
    ways += [
        tok.sample(text, seed=seed, special="text", add_special_tokens=False) for seed in range(50)
    ]
    unknown = tok.vocab["<unk>"]
    assert all(not control.intersection(set(way) - {unknown}) for way in ways)
    with pytest.raises(protok.SpecialTokenError):
        tok.sample(text, seed=1)
    with pytest.raises(protok.SpecialTokenError):
        tok.nbest(text, 2)


@pytest.mark.parametrize("name", ["llama2_bpe_bytefallback", "mistral_v3"])
def test_case_U09(shared: Path, name: str) -> None:
    """A sample of text that the vocabulary covers has no unknown token, and is the text."""
    tok = protok.load(shared / f"artifacts/sentencepiece/{name}.model")
    unknown = tok.vocab["<unk>"]
    text = "the cats sat on the mats and the rats ran"
    assert unknown not in tok.encode(text, add_special_tokens=False).tolist()
    ways = set()
    for seed in range(3000):
        encoding = tok.sample(text, seed=seed, dropout=0.1, add_special_tokens=False)
        assert unknown not in encoding.tolist()
        assert tok.decode(encoding) == text
        ways.add(tuple(encoding))
    assert len(ways) > 10
    again = tok.sample(text, seed=7, dropout=0.1, add_special_tokens=False)
    assert again == tok.sample(text, seed=7, dropout=0.1, add_special_tokens=False)
