"""Take samples of all libraries in turn, each in a fresh process, and hold them to the original.

A cell is measured in three steps. Every library encodes a short piece of the text, once: that says
which are exact there, and which can be the fastest. Those encode the whole text, and every id is
compared with the reference's. Then protok and the fastest exact ones are sampled in turn.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers import PEERS, pins
from benchmarks.texts import HOSTILE
from benchmarks.vocabularies import VOCABULARIES, tiktoken_cache

if TYPE_CHECKING:
    from benchmarks.plan import Cell

ROOT = Path(__file__).resolve().parents[1]
OWN = "protok"
SCREEN = 2.0  # MB
CONTENDER = 0.4  # of the fastest's speed on the short piece
UNCHECKED = ("start", "import")
IMPORT = (
    "import time, json; a, c = time.process_time(), time.perf_counter(); import {module}; "
    "print(json.dumps({{'import': [(time.process_time() - a) * 1e3, "
    "(time.perf_counter() - c) * 1e3]}}))"
)


@dataclass
class Samples:
    """What is known about one library in one cell."""

    verdict: str = "exact"  # or how many inputs differ, or the error
    whole: bool = False  # compared over the whole text
    figures: dict[str, list[float]] = field(default_factory=dict)

    def add(self, figures: dict[str, float]) -> None:
        """Note the figures of one more sample."""
        for name, figure in figures.items():
            self.figures.setdefault(name, []).append(figure)

    def median(self, name: str) -> float:
        """Return the median of a figure."""
        return statistics.median(self.figures[name])


@dataclass
class Ratio:
    """How many times better protok is than another library, with its 95 % interval."""

    peer: str
    median: float
    low: float
    high: float
    pairs: int


def ratio(own: list[float], other: list[float], *, lower: bool) -> tuple[float, float, float]:
    """Return the ratio of the medians of pairs, and its 95 % interval by bootstrap over pairs."""
    mine, theirs = np.asarray(own), np.asarray(other)
    drawn = np.random.default_rng(1).integers(0, len(mine), (10_000, len(mine)))
    medians = np.median(mine[drawn], axis=1) / np.median(theirs[drawn], axis=1)
    whole = float(np.median(mine) / np.median(theirs))
    if lower:
        medians, whole = 1 / medians, 1 / whole
    low, high = np.quantile(medians, (0.025, 0.975))
    return whole, float(low), float(high)


class Runner:
    """Start samples, and remember what the references say."""

    def __init__(self, data: Path, cores: list[int], limit: float) -> None:
        self.data, self.cores, self.limit = data, cores, limit
        self.versions = pins()["versions"]
        self.cache = data / "expected"
        self.cache.mkdir(exist_ok=True)
        self.environment = os.environ | {
            "TIKTOKEN_CACHE_DIR": str(tiktoken_cache(data)),
            "PYTHONPATH": str(ROOT),
            "TOKENIZERS_PARALLELISM": "false",
        }

    def sample(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take one sample in a fresh process."""
        threads = request.get("threads", 1)
        asked = request | {"data": str(self.data), "cores": self.cores[: max(threads, 1)]}
        command = [sys.executable, "-m", "benchmarks.sample", json.dumps(asked)]
        if request["job"] == "import":
            code = IMPORT.format(module=PEERS[request["peer"]][1][0])
            command = [sys.executable, "-c", code]
        environment = self.environment | {"RAYON_NUM_THREADS": str(threads)}
        try:
            done = subprocess.run(
                command, check=False, capture_output=True, timeout=self.limit, env=environment,
                cwd=self.data,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"error": f"over {self.limit:.0f} s"}
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
        if done.returncode or not lines:
            message = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return {"error": f"exit {done.returncode}: {message[-1][:160] if message else ''}"}
        answer: dict[str, Any] = json.loads(lines[-1])
        return answer

    def expected(self, cell: Cell) -> dict[str, Any]:
        """Return what the reference gives for a cell: digests, computed once for each text."""
        reference = VOCABULARIES[cell.vocabulary].reference
        request = cell.request(reference, warm=False)
        if cell.sample in ("decode", "latency"):
            request["output"] = "list"
        else:
            shape = "one" if cell.shape == "file" else cell.shape
            megabytes = cell.megabytes * request.get("parts", 1)
            request |= {"job": "encode", "shape": shape, "megabytes": megabytes, "output": "list"}
            request |= {"threads": 1, "rows": True}
        size = (self.data / f"{cell.text}.txt").stat().st_size if cell.text not in HOSTILE else 0
        kept = {name: request[name] for name in sorted(request) if name != "tokens"}
        name = "-".join(str(part) for part in (*kept.values(), cell.tokens, size))
        path = self.cache / (name.replace(" ", "_").replace("/", "_") + ".json")
        if path.exists():
            found: dict[str, Any] = json.loads(path.read_text())
            return found
        limit, self.limit = self.limit, 3600
        found = self.sample(request)
        self.limit = limit
        if "digest" in found:
            path.write_text(json.dumps(found))
        return found

    def verdict(self, cell: Cell, peer: str, result: dict[str, Any]) -> str:
        """Hold a result to the reference's."""
        if "error" in result:
            return str(result["error"])
        if cell.job in UNCHECKED:
            return "exact"
        right = self.expected(cell)
        if "digest" not in right:
            return f"unknown: the reference fails ({right.get('error', right)})"
        if result["digest"] == right["digest"]:
            return "exact"
        if cell.sample != "encode" or cell.shape in ("one", "file"):
            return "other text" if cell.sample == "decode" else "differs"
        rows = self.sample(cell.request(peer, warm=False) | {"rows": True}).get("rows", [])
        different = sum(mine != theirs for mine, theirs in zip(rows, right["rows"], strict=False))
        return f"{different} of {len(right['rows'])} differ"

    def measure(
        self,
        cell: Cell,
        peers: Iterable[str],
        *,
        pairs: int,
        best: int = 2,
        warm: bool = True,
        every: bool = False,
    ) -> dict[str, Samples]:
        """Screen all libraries, then sample protok and the best exact ones in turn."""
        short = cell.shortened(SCREEN)
        found = {peer: self._once(short, peer, warm=warm) for peer in peers}
        known = {peer: samples for peer, samples in found.items() if samples is not None}
        chosen = self._contenders(cell, known, every=every)
        for peer in chosen if short != cell else ():
            samples = self._once(cell, peer, warm=warm)
            if samples is not None:
                known[peer] = samples
        for peer, samples in known.items():
            samples.whole = short == cell or peer in chosen
        if pairs > 1:
            turn = [peer for peer in chosen if self._leads(cell, known, peer, best)]
            self._in_turn(cell, {peer: known[peer] for peer in turn}, pairs, warm=warm)
        return known

    def _once(self, cell: Cell, peer: str, *, warm: bool) -> Samples | None:
        """Take one sample, and judge its ids; nothing where a library does not do that."""
        result = self.sample(cell.request(peer, warm=warm))
        if "unsupported" in result:
            return None
        samples = Samples(self.verdict(cell, peer, result))
        if "error" not in result:
            samples.add(cell.figures(result))
        return samples

    def _in_turn(self, cell: Cell, turn: dict[str, Samples], pairs: int, *, warm: bool) -> None:
        """Sample libraries in turn, forwards and backwards, in place of what was known."""
        for samples in turn.values():
            samples.figures = {}
        for number in range(pairs):
            for peer in turn if number % 2 else reversed(turn):
                result = self.sample(cell.request(peer, warm=warm))
                if "error" in result:
                    turn[peer].verdict = str(result["error"])
                else:
                    turn[peer].add(cell.figures(result))

    def _contenders(self, cell: Cell, found: dict[str, Samples], *, every: bool) -> list[str]:
        """Return protok and the libraries that may be the fastest, the exact ones among them."""
        usable = [peer for peer, samples in found.items() if samples.figures]
        if every:
            return usable
        tops: dict[str, float] = {}
        for peer in usable:
            if peer != OWN and found[peer].verdict == "exact":
                for name in found[peer].figures:
                    tops[name] = max(tops.get(name, 0), self._speed(cell, found, peer, name))
        return [
            peer
            for peer in usable
            if peer == OWN
            or any(self._speed(cell, found, peer, name) >= CONTENDER * top
                   for name, top in tops.items() if name in found[peer].figures)
        ]  # fmt: skip

    @staticmethod
    def _speed(cell: Cell, found: dict[str, Samples], peer: str, name: str) -> float:
        median = found[peer].median(name)
        return 1 / max(median, 1e-9) if cell.lower else median

    def _leads(self, cell: Cell, found: dict[str, Samples], peer: str, best: int) -> bool:
        """Say whether a library is protok, or one of the best exact ones in some figure."""
        if peer == OWN:
            return True
        if found[peer].verdict != "exact":
            return False
        for name in found[peer].figures:
            exact = [other for other in found if other != OWN and name in found[other].figures
                     and found[other].verdict == "exact" and found[other].whole]  # fmt: skip
            exact.sort(key=lambda other: -self._speed(cell, found, other, name))
            if peer in exact[:best]:
                return True
        return False


def ratios(cell: Cell, found: dict[str, Samples]) -> dict[str, Ratio]:
    """Compare protok with the best exact library, figure by figure."""
    answer: dict[str, Ratio] = {}
    if OWN not in found:
        return answer
    for name, own in found[OWN].figures.items():
        rivals = [
            peer
            for peer, samples in found.items()
            if peer != OWN and samples.verdict == "exact" and samples.whole
            and len(samples.figures.get(name, ())) == len(own)
        ]  # fmt: skip
        if not rivals:
            continue
        pick = min if cell.lower else max
        peer = pick(rivals, key=lambda other: found[other].median(name))
        middle, low, high = ratio(own, found[peer].figures[name], lower=cell.lower)
        answer[name] = Ratio(peer, middle, low, high, len(own))
    return answer
