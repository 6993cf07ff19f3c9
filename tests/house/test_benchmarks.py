"""The benchmarks measure what they say, and hold ids to the reference before they time anything."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import protok
from benchmarks import goals, peers, plan, report, run, texts, vocabularies
from benchmarks.plan import Cell
from benchmarks.run import OWN, Runner, Samples

CELL = Cell("encode", "gpt2", megabytes=0.1)
Answer = dict[str, Any]


@given(st.text(st.sampled_from("a b\n\u00e9\u4e2d\U0001f600")), st.integers(4, 40))
def test_cutting_loses_nothing(text: str, size: int) -> None:
    parts = texts.cut(text, size)
    assert "".join(parts) == text
    assert all(0 < len(part.encode()) <= size + size // 2 + 3 for part in parts)


def test_every_peer_is_pinned() -> None:
    pinned = peers.pins()["versions"]
    assert {distribution for distribution, _, _ in peers.PEERS.values()} - {OWN} == {*pinned}
    assert {*peers.pins()["notes"]} <= {*pinned}


def test_cells_are_distinct_and_known() -> None:
    usual, full = list(plan.cells()), list(plan.cells(full=True))
    assert len({*usual}) == len(usual)
    assert {*usual} <= {*full}
    assert {cell.job for cell in usual} == {*plan.JOBS}
    known = {*texts.TEXTS, *texts.HOSTILE, "mixed"}
    for cell in (*full, *(goal.cell for goal in goals.goals())):
        assert cell.vocabulary in vocabularies.VOCABULARIES
        assert cell.text in known


@pytest.mark.parametrize("name", texts.HOSTILE)
def test_hostile_texts_have_the_size_asked_for(name: str) -> None:
    for size in (4096, 65536):
        text = texts.hostile(name, size)
        assert text == texts.hostile(name, size)
        assert 0.7 * size <= len(text.encode()) <= 1.5 * size


def test_ratio_and_its_interval() -> None:
    middle, low, high = run.ratio([20, 22, 21, 24] * 3, [10, 10, 10.5, 11] * 3, lower=False)
    assert middle == pytest.approx(21.5 / 10.25)
    assert 1.9 < low < middle < high < 2.4
    assert run.ratio([20.0] * 11, [10.0] * 11, lower=True) == pytest.approx((0.5, 0.5, 0.5))


class Scripted(Runner):
    """A runner whose samples are made up: a digest and a speed for each library."""

    def __init__(self, libraries: dict[str, Answer]) -> None:
        self.libraries = libraries
        self.asked: list[tuple[str, float]] = []

    def sample(self, request: Answer) -> Answer:
        self.asked.append((request["peer"], request["megabytes"]))
        return self.libraries[request["peer"]]

    def expected(self, cell: Cell) -> Answer:  # noqa: ARG002
        return {"digest": "right", "rows": ["a", "b"]}


def answer(speed: float, digest: str = "right") -> Answer:
    seconds = 1 / speed
    return {"bytes": 1e6, "digest": digest, "rows": ["a", "x"], "cold": [seconds, 9],
            "warm": [seconds / 2, 9]}  # fmt: skip


def test_who_is_not_exact_is_shown_and_not_the_best() -> None:
    runner = Scripted({
        OWN: answer(50),
        "wrong": answer(90, "other"),
        "good": answer(40),
        "second": answer(30),
        "slow": answer(2),
        "broken": {"error": "no"},
        "other": {"unsupported": "that"},
    })  # fmt: skip
    cell = replace(CELL, megabytes=20)
    found = runner.measure(cell, runner.libraries, pairs=11, best=1)
    assert {peer: samples.verdict for peer, samples in found.items()} == {
        OWN: "exact", "wrong": "1 of 2 differ", "good": "exact", "second": "exact",
        "slow": "exact", "broken": "no",
    }  # fmt: skip
    assert [len(found[peer].figures["cold"]) for peer in (OWN, "good", "second")] == [11, 11, 1]
    assert not found["slow"].whole
    assert ("slow", 20) not in runner.asked
    # forwards and backwards, in turn
    turn = [peer for peer, size in runner.asked if size == 20][-4:]
    assert turn in ([OWN, "good", "good", OWN], ["good", OWN, OWN, "good"])
    best = run.ratios(cell, found)
    assert (best["cold"].peer, best["cold"].median) == ("good", 1.25)
    lines = "\n".join(report.lines(report.row(cell, found)))
    assert "wrong 90 (1 of 2 differ)" in lines
    assert "1.25x good [1.25, 1.25]" in lines
    assert "broken: no" in lines


def test_a_goal_holds_by_its_lower_end_and_enough_pairs() -> None:
    goal = goals.Goal("some", CELL, "cold", 1)

    def outcome(own: float, pairs: int, verdict: str = "exact") -> bool:
        found = {
            OWN: Samples(verdict, whole=True, figures={"cold": [own] * pairs}),
            "good": Samples("exact", whole=True, figures={"cold": [40.0] * pairs}),
            "wrong": Samples("differs", whole=True, figures={"cold": [99.0] * pairs}),
        }
        return goals.outcome(goal, found, pairs).holds

    assert outcome(39, 11)
    assert not outcome(37, 11)
    assert not outcome(60, 10)
    assert not outcome(60, 11, "differs")


def test_page_equals_the_summary(root: Path) -> None:
    assert report.SUMMARY.exists() == report.PAGE.exists()
    if report.SUMMARY.exists():
        summary = json.loads(report.SUMMARY.read_text("utf-8"))
        assert report.PAGE.read_text("utf-8") == report.page(summary)
    found = {OWN: Samples(whole=True, figures={"cold": [2.0, 3.0, 4.0]})}
    made = report.page({
        "machine": {"date": "2026-11-30T00:00", "commit": "abc", "processor": "some", "cores": 2,
                    "system": "any", "versions": {"protok": "1"}},
        "pairs": 3,
        "results": [report.row(CELL, found)],
    })  # fmt: skip
    assert "## encode gpt2" in made
    assert "| protok | 3 (2-4) |" in made
    assert not made.startswith(str(root))


@pytest.fixture
def data(tmp_path: Path, gpt2: protok.Tokenizer) -> Path:
    """Return a folder of data with a small vocabulary and text."""
    out = vocabularies.json_file(tmp_path, "gpt2")
    out.parent.mkdir(parents=True)
    out.write_bytes(gpt2.to_files()["tokenizer.json"])
    (tmp_path / "english.txt").write_text("One two three, and the rest of it.\n" * 3000)
    return tmp_path


def test_a_sample_in_a_process_of_its_own(data: Path) -> None:
    runner = Runner(data, [0], 60)
    for shape, output in (("documents", "flat"), ("one", "list"), ("short", "offsets")):
        cell = replace(CELL, shape=shape, output=output)
        found = runner.measure(cell, [OWN, "tokenizers"], pairs=2)
        assert {samples.verdict for samples in found.values()} == {"exact"}
        assert {len(samples.figures["warm"]) for samples in found.values()} == {2}
    for job in ("stream", "latency", "decode", "start", "import"):
        cell = replace(CELL, job=job, output="list", tokens=20, megabytes=0.03)
        found = runner.measure(cell, [OWN, "tokenizers"], pairs=1)
        assert {samples.verdict for samples in found.values()} == {"exact"}
        assert all(min(values) >= 0 for samples in found.values()
                   for values in samples.figures.values())  # fmt: skip


def test_ranks_as_a_tokenizer_json() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    for token in (b"th", b"he", b"the", b" the", b"\xc3\xa9", b"ab", b"bc", b"abc", b"abcabc"):
        ranks[token] = len(ranks)
    pattern = vocabularies.PATTERNS["cl100k"]
    document = vocabularies.converted(ranks, pattern, {"<|end|>": 300})
    data = json.dumps(document).encode()
    original = tiktoken.Encoding(
        "some", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|end|>": 300}
    )
    theirs, ours = Tokenizer.from_buffer(data), protok.load(data)
    for text in ("the theme abcabcabc", "bcab \u00e9t\u00e9 the\n\n12345", "thehe  hehe"):
        expected = original.encode_ordinary(text)
        assert theirs.encode(text).ids == expected
        assert ours.encode(text).tolist() == expected
