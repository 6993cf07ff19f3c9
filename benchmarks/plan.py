"""What is measured: cells, each one job on one vocabulary and text, in one way of calling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from benchmarks.texts import HOSTILE, TEXTS
from benchmarks.vocabularies import VOCABULARIES

JOBS = ("encode", "stream", "latency", "start", "import", "peak", "decode", "threads", "hostile")
SHAPES = ("documents", "short", "one", "file")
OUTPUTS = ("flat", "list", "offsets")
CORE = ("cl100k", "llama2", "bert", "t5")  # one of each family, where not all are measured
PARTS = 3


@dataclass(frozen=True)
class Cell:
    """One thing to measure with every library."""

    job: str
    vocabulary: str
    text: str = "english"
    shape: str = "documents"
    output: str = "flat"
    megabytes: float = 20
    threads: int = 1
    tokens: int = 0

    @property
    def title(self) -> str:
        """Name the cell for people."""
        parts = [self.job, self.vocabulary]
        if self.job not in ("start", "import"):
            parts += [self.text]
        if self.job in ("encode", "hostile", "stream", "threads"):
            parts += [self.shape, self.output]
        if self.job in ("decode", "latency"):
            parts += [self.output]
        if self.tokens:
            parts.append(f"{self.tokens} tokens")
        return " / ".join(parts)

    @property
    def sample(self) -> str:
        """Name the job of the sample."""
        return {"threads": "encode", "hostile": "encode"}.get(self.job, self.job)

    def request(self, peer: str, *, warm: bool = True) -> dict[str, Any]:
        """Return what a sample is asked for."""
        asked = asdict(self) | {"job": self.sample, "peer": peer, "warm": warm}
        if self.job == "stream":
            asked["parts"] = PARTS
        if self.job == "latency":
            asked["calls"] = max(50, 40_000 // self.tokens)
        return asked

    def figures(self, result: dict[str, Any]) -> dict[str, float]:
        """Return the figures of a sample: speeds, or times and sizes; see `lower`."""
        # of the processor on one thread, by the clock on several
        kind = 1 if self.threads > 1 else 0
        million = result.get("bytes", 0) / 1e6
        if self.job in ("encode", "hostile", "threads", "decode"):
            return {state: million / max(result[state][kind], 1e-9)
                    for state in ("cold", "warm") if state in result}  # fmt: skip
        if self.job == "stream":
            return {"later": million / max(result["later"][kind], 1e-9)}
        if self.job == "latency":
            return {"microseconds": result["each"][kind]}
        if self.job == "peak":
            return {"megabytes": result["rise"], "of output": result["rise"] / result["output"]}
        if self.job == "import":
            return {"milliseconds": result["import"][0]}
        figures = {"milliseconds": result["to first id"][0], "first call": result["first call"][0]}
        return figures | {"megabytes": result["megabytes"]}

    @property
    def lower(self) -> bool:
        """Say whether less is better."""
        return self.job in ("latency", "start", "import", "peak")

    def shortened(self, megabytes: float) -> Cell:
        """Return the cell on at most so much text."""
        return replace(self, megabytes=min(self.megabytes, megabytes))


def _encode(*, full: bool) -> Iterator[Cell]:
    for vocabulary in VOCABULARIES:
        for text in TEXTS:
            for shape in SHAPES:
                for output in OUTPUTS if shape != "file" else OUTPUTS[:1]:
                    usual = shape == "documents" and output == "flat"
                    some = vocabulary in CORE and text == "english" and output != "offsets"
                    offsets = text in ("english", "languages") and output == "offsets"
                    offsets &= shape == "documents"
                    chat = text == "chat" and shape == "short" and output != "offsets"
                    if full or usual or some or offsets or chat:
                        # what gives offsets is slow: a tenth of the text
                        size = 2 if output == "offsets" else 20
                        yield Cell("encode", vocabulary, text, shape, output, size)


def cells(*, full: bool = False) -> Iterator[Cell]:
    """Return the cells of a whole run, or the full cross of them."""

    def some(*names: str) -> Iterable[str]:
        return VOCABULARIES if full else names

    prose = ("english", "languages", "code")
    everywhere = product(VOCABULARIES, (20, 1000), ("flat", "list"))
    yield from _encode(full=full)
    for name, text in product(some("cl100k", "o200k", "llama3", "llama2", "bert", "t5"), prose):
        yield Cell("stream", name, text, megabytes=10)
    for name, tokens, output in everywhere:
        yield Cell("latency", name, output=output, megabytes=0.5, tokens=tokens)
    for name in VOCABULARIES:
        yield Cell("start", name)
    yield Cell("import", "cl100k")
    for name in some(*CORE):
        yield Cell("peak", name, "mixed", megabytes=50)
    for name, output in product(some(*CORE, "llama3"), ("list", "array", "stream")):
        yield Cell("decode", name, output=output, megabytes=5)
    for name, threads in product(some(*CORE), (1, 2)):
        yield Cell("threads", name, "mixed", megabytes=50, threads=threads)
    for name, text in product(some(*CORE), HOSTILE):
        yield Cell("hostile", name, text, "one", "flat", 1)
