"""The bounds that protok is held to, each against the best exact library of its cell.

A row holds when the lower end of the 95 % interval of the ratio, over at least eleven pairs of
fresh processes in turn, is above the bound; for "not slower than anyone" above 0.95.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.plan import Cell
from benchmarks.run import OWN, Runner, Samples, ratio, ratios
from benchmarks.texts import HOSTILE
from benchmarks.vocabularies import VOCABULARIES

PAIRS = 11
NOT_SLOWER = 0.95


@dataclass(frozen=True)
class Goal:
    """A bound on the ratio of one figure of a cell."""

    group: str
    cell: Cell
    figure: str
    bound: float
    # held to twice the size of the output and 32 MiB, not to another library
    memory: bool = False

    @property
    def held_to(self) -> float:
        """Return what the lower end of the interval has to be above."""
        return NOT_SLOWER if self.bound == 1 else self.bound


# family: cold, warm
BOUNDS = {
    "byte BPE": (1.7, 1.15),
    "SentencePiece BPE": (3.0, 3.0),
    "WordPiece": (1.5, 1.15),
    "Unigram": (3.0, 2.0),
}
PROSE = ("english", "languages", "code")
ONE_OF_EACH = ("cl100k", "llama3", "llama2", "bert", "t5")


def _speed() -> Iterator[Goal]:
    for name, about in VOCABULARIES.items():
        for text in PROSE:
            cell = Cell("encode", name, text)
            for figure, bound in zip(("cold", "warm"), BOUNDS[about.family], strict=True):
                yield Goal(f"{about.family}, {figure}", cell, figure, bound)
    for text in PROSE:
        yield Goal("a long stream", Cell("stream", "cl100k", text, megabytes=10), "later", 1.3)


def _calls(name: str) -> Iterator[Goal]:
    for output in ("flat", "list"):
        cell = Cell("encode", name, "english", "short", output)
        yield Goal(f"short strings, {output}", cell, "cold", 1.2)
    yield Goal("lists", Cell("encode", name, output="list"), "cold", 1.2)
    yield Goal("offsets", Cell("encode", name, output="offsets", megabytes=2), "cold", 5)
    for tokens in (20, 1000):
        cell = Cell("latency", name, output="flat", megabytes=0.5, tokens=tokens)
        yield Goal("latency", cell, "microseconds", 1)
    for output, bound in (("list", 1.5), ("array", 3)):
        cell = Cell("decode", name, output=output, megabytes=5)
        yield Goal(f"decode, {output} in", cell, "warm", bound)
    yield Goal("load to the first id", Cell("start", name), "milliseconds", 1.3)
    cell = Cell("threads", name, "mixed", megabytes=50, threads=2)
    yield Goal("two threads against one", cell, "cold", 1.7)
    cell = Cell("peak", name, "mixed", megabytes=50)
    yield Goal("peak above twice the output and 32 MiB", cell, "megabytes", 0, memory=True)


def goals() -> Iterator[Goal]:
    """Return every bound."""
    yield from _speed()
    for name in ONE_OF_EACH:
        yield from _calls(name)
    for name in ONE_OF_EACH:
        for text in HOSTILE:
            yield Goal("hostile", Cell("hostile", name, text, "one", "flat", 1), "cold", 1)


@dataclass
class Outcome:
    """A goal, and what was measured."""

    goal: Goal
    peer: str
    median: float
    low: float
    holds: bool
    why: str = ""

    def line(self) -> str:
        """Return the outcome for a terminal."""
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        figures = f"goal {self.goal.bound:g}  median {self.median:.2f}  low {self.low:.2f}"
        if self.goal.memory:
            figures = f"{self.median:.0f} MB of {self.low:.0f} MB at most"
        name = f"{self.goal.group}: {self.goal.cell.title} / {self.goal.figure}"
        return f"{name}  against {self.peer or '-'}  {figures}  {verdict}{self.why}"


def outcome(goal: Goal, found: dict[str, Samples], pairs: int) -> Outcome:
    """Judge a goal by the samples of its cell."""
    own = found.get(OWN)
    if own is None or own.verdict != "exact" or goal.figure not in own.figures:
        why = f" ({own.verdict if own else 'not measured'})"
        return Outcome(goal, "", 0, 0, holds=False, why=why)
    if goal.memory:
        rise = own.median("megabytes")
        most = 2 * rise / own.median("of output") + 32 * 1.048576
        return Outcome(goal, "", rise, most, holds=rise <= most)
    best = ratios(goal.cell, found).get(goal.figure)
    if best is None:
        return Outcome(goal, "", 0, 0, holds=True, why=" (no exact library offers this)")
    holds = best.low > goal.held_to and pairs >= PAIRS
    why = "" if pairs >= PAIRS else f" ({pairs} pairs)"
    return Outcome(goal, best.peer, best.median, best.low, holds=holds, why=why)


def threads(goal: Goal, runner: Runner, pairs: int) -> Outcome:
    """Judge how two threads do against one: protok against itself, in turn."""
    single = replace(goal.cell, threads=1)
    taken: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(pairs):
        for cell in (single, goal.cell):
            result = runner.sample(cell.request(OWN, warm=False))
            if "error" in result:
                return Outcome(goal, OWN, 0, 0, holds=False, why=f" ({result['error']})")
            verdict = runner.verdict(cell, OWN, result)
            if verdict != "exact":
                return Outcome(goal, OWN, 0, 0, holds=False, why=f" ({verdict})")
            taken[cell.threads].append(result["bytes"] / result["cold"][1])
    median, low, _ = ratio(taken[2], taken[1], lower=False)
    why = "" if pairs >= PAIRS else f" ({pairs} pairs)"
    return Outcome(goal, OWN, median, low, holds=low > goal.held_to and pairs >= PAIRS, why=why)
