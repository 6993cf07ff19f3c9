"""Intermediate tokens that are removed again: what is left, and who can read it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import pytest

import protok
from protok.training import Recipe, from_toml, run, to_toml
from protok.training.steps import steps

LETTERS = {"symbols": "characters", "pre_tokenizer": None, "decoder": None}


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Return the prose that every Python brings, 200 kB of it."""
    return "".join(topics[name] for name in sorted(topics))[:120_000].splitlines(keepends=True)


def removing(size: int, share: float, **options: Any) -> Recipe:
    return Recipe(vocab_size=size, remove_intermediate=share, **options)


def test_by_hand() -> None:
    """Nine of ten ``ab`` went into ``abc``; where the tenth stands it is two tokens again."""
    training = run(removing(5, 0.9, **LETTERS), {"abc": 9, "ab": 1, "cb": 4})
    first, second, third = training.merges
    assert (first.token, first.count, first.removed) == ("ab", 10, ())
    assert (second.left, second.right, second.count) == ("ab", "c", 9)
    assert second.removed == (("ab", ("a", "b")),)
    # 2·9 + ... : 37 letters, ten merges, nine merges, and one taken back.
    assert second.tokens_after == 37 - 10 - 9 + 1
    assert (third.token, third.count) == ("cb", 4)
    assert list(training.tokenizer.vocab) == ["a", "b", "c", "abc", "cb"]
    assert training.tokenizer.encode("abcabcb").tokens == ["abc", "abc", "b"]
    assert training.tokenizer.encode("ab").tokens == ["a", "b"]


def test_a_removed_token_may_come_back() -> None:
    """``ab`` leaves with ``abc``, then what is left of it is the most frequent pair again."""
    words = {"abc": 10, "abd": 4, "ab": 1, "dd": 3}
    training = run(removing(7, 0.6, **LETTERS), words)
    made = [merge.token for merge in training.merges]
    assert made[:3] == ["ab", "abc", "ab"]
    assert training.merges[1].removed == (("ab", ("a", "b")),)
    assert training.merges[2].count == 5
    assert [merge.removed for merge in training.merges[3:]] == [(("ab", ("a", "b")),), ()]
    assert list(training.tokenizer.vocab) == ["a", "b", "c", "d", "abc", "abd", "dd"]


@pytest.mark.parametrize("share", [0.6, 0.9, 1.0])
@pytest.mark.parametrize("cut", ["bytes", "Metaspace", "BertPreTokenizer"])
def test_others_read_the_result_alike(lines: list[str], cut: str, share: float) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    options: dict[str, Any] = {}
    if cut != "bytes":
        options = {"symbols": "characters", "decoder": None, "unk_token": "<unk>"}
        options["pre_tokenizer"] = {"type": cut}
        options["special_tokens"] = ("<unk>",)
    if cut == "Metaspace":
        options["pre_tokenizer"] |= {"replacement": "▁", "prepend_scheme": "always", "split": True}
    training = run(removing(1500, share, **options), lines)
    tok = training.tokenizer
    assert tok.vocab.size == 1500
    # Removed tokens are not there, unless they were made again.
    removed = {token for merge in training.merges for token, _ in merge.removed}
    last = {merge.token: step for step, merge in enumerate(training.merges)}
    gone = {
        token
        for step, merge in enumerate(training.merges)
        for token, _ in merge.removed
        if last[token] <= step
    }
    assert len(gone) > 20
    assert gone.isdisjoint(tok.vocab)
    assert removed - gone <= {*tok.vocab}
    assert {*last} - gone <= {*tok.vocab}
    files = tok.to_files()
    reference = tokenizers.Tokenizer.from_str(files["tokenizer.json"].decode())
    unseen = ["naïve 🐈 und Straße", "zzzyx", "x" * 500, " \t ", "def f(self): return self._g[1:2]"]
    for line in (*lines, *unseen):
        assert tok.encode(line).tolist() == reference.encode(line).ids, line
    if cut == "bytes":
        text = "".join(unseen)
        assert tok.decode(tok.encode(text)) == text == reference.decode(reference.encode(text).ids)


def test_fewer_entries_are_never_used(lines: list[str]) -> None:
    kept = run(Recipe(vocab_size=1500), lines)
    removed = run(removing(1500, 0.9), lines)

    def figures(training: Any) -> tuple[int, int]:
        report = training.report()
        return len(report.odd.get("used only inside others", [])), report.training.tokens

    assert figures(removed)[0] < figures(kept)[0] / 2
    # The longest match is at most a little longer than what merges give with the same size.
    assert figures(removed)[1] < figures(kept)[1] * 1.02


@pytest.mark.parametrize("tie", ["lowest-ids", "lexicographic-last", "first-seen"])
def test_an_independent_recount(lines: list[str], tie: Any) -> None:
    """Every merge is of the most frequent pair, and what is removed was used up by it."""
    training = run(removing(340, 0.8, tie=tie), lines[:250])
    assert training.counted is not None
    assert any(merge.removed for merge in training.merges)
    before: Counter[str] = Counter()
    for step in steps(training, len(training.merges)):
        merge, pairs = step.merge, dict(step.pairs)
        assert pairs[merge.left, merge.right] == merge.count == max(pairs.values())
        after: Counter[str] = Counter()
        for symbols, count in step.words:
            for symbol in symbols:
                after[symbol] += count
        assert after.total() == merge.tokens_after
        before = Counter(step.parts)
        removed = dict(merge.removed)
        for part in {merge.left, merge.right} - set(step.parts.keys() & BASE):
            times = merge.left == part, merge.right == part
            share = merge.count * sum(times) / before[part]
            if merge.left != merge.right:
                assert (part in removed) == (share >= 0.8)
        assert all(after[token] == 0 for token in removed)


BASE = {*protok._core.BYTE_ALPHABET}


def test_the_same_by_threads_and_files(lines: list[str], tmp_path: Path) -> None:
    recipe = removing(1200, 0.9)
    path = tmp_path / "lines.txt"
    path.write_bytes("".join(lines).encode())
    one = run(recipe, [path], threads=1)
    two = run(recipe, [path], threads=2, memory_bytes=1 << 20, spill_folder=tmp_path)
    assert one.to_files() == two.to_files()
    again = from_toml(to_toml(recipe))
    assert again == recipe
    assert run(again, lines).tokenizer.fingerprint == one.tokenizer.fingerprint
    model = json.loads(one.to_files()["tokenizer.json"])["model"]
    assert (model["type"], model["continuing_subword_prefix"]) == ("WordPiece", "")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"remove_intermediate": 0.4}, "from 0.5 to 1"),
        ({"remove_intermediate": 1.5}, "from 0.5 to 1"),
        ({"required": ("ab",)}, "required cannot be .* with remove_intermediate"),
        ({"end_of_word_suffix": "</w>"}, "end_of_word_suffix"),
        ({"byte_fallback": True}, "byte_fallback"),
        ({"ignore_merges": True}, "ignore_merges"),
        ({"model": "unigram"}, "unigram model does not read remove_intermediate"),
    ],
)
def test_what_it_does_not_go_with(options: dict[str, Any], what: str) -> None:
    with pytest.raises(protok.InputError, match=what):
        protok.train(replace(removing(600, 0.9), **options), ["abab"])
