"""Plot time and memory of a training against the size of its corpus.

    python -m benchmarks.training_sizes CORPUS                       1, 10, 100 MB and 1 GB
    python -m benchmarks.training_sizes CORPUS --sizes 1M 10M --repeat 1 --folder /tmp

CORPUS is one UTF-8 file as large as the largest size, of which the others are the beginning. Each
run is a process of its own: byte-level BPE, from the file to a finished tokenizer, once with no
limit and once with a limit of memory for counting; the result of both must be the same. Times are
from the call to its return, without imports; memory is the most that the process ever had. Writes
`training-sizes.md` and `training-sizes.svg`.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import ROOT, describe

SIZES = ("1M", "10M", "100M", "1G")
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}
LIMIT = "256M"
COPY = 16 << 20


@dataclass(frozen=True)
class Point:
    """What the runs of one size and limit took."""

    size: int
    limit: str
    seconds: tuple[float, ...]
    megabytes: float
    fingerprint: str
    words: int

    @property
    def median(self) -> float:
        """The time in the middle."""
        return median(self.seconds)


def number(text: str) -> int:
    """Read a size such as ``10M``."""
    return int(float(text[:-1]) * UNITS[text[-1]]) if text[-1] in UNITS else int(text)


def spelled(size: int) -> str:
    """Write a size as people say it."""
    unit = max((u for u in UNITS if size >= UNITS[u]), key=UNITS.__getitem__, default="K")
    return f"{size / UNITS[unit]:g} {unit}B"


def beginning(corpus: Path, size: int, target: Path) -> Path:
    """Write the lines of the first ``size`` bytes."""
    left, last = size, 0
    with corpus.open("rb") as source, target.open("wb") as out:
        while left and (data := source.read(min(left, COPY))):
            left -= len(data)
            if b"\n" in data:
                last = out.tell() + data.rfind(b"\n") + 1
            out.write(data)
        if left:
            raise SystemExit(f"{corpus} is smaller than {spelled(size)}.")
        out.truncate(last)
    return target


def one(corpus: Path, vocabulary: int, threads: int, limit: int | None) -> dict[str, Any]:
    """Train once, in this process."""
    from protok.training import Recipe, run

    start = time.perf_counter()
    training = run(
        Recipe(vocab_size=vocabulary, fewer="accept"),
        [corpus],
        threads=threads,
        memory_bytes=limit,
        spill_folder=corpus.parent,
    )
    seconds = time.perf_counter() - start
    assert training.counted is not None
    return {
        "seconds": seconds,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
        "fingerprint": training.tokenizer.fingerprint,
        "words": len(training.counted.counter),
    }


def measured(corpus: Path, size: int, limit: str, options: argparse.Namespace) -> Point:
    """Train as often as asked for, each time in a new process."""
    command = [sys.executable, "-m", "benchmarks.training_sizes", str(corpus), "--run", limit]
    command += ["--vocabulary", str(options.vocabulary), "--threads", str(options.threads)]
    runs = []
    for _ in range(options.repeat):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        runs.append(json.loads(done.stdout))
    return Point(
        size,
        limit,
        tuple(run["seconds"] for run in runs),
        max(run["megabytes"] for run in runs),
        runs[0]["fingerprint"],
        runs[0]["words"],
    )


def points(options: argparse.Namespace) -> Iterator[Point]:
    """Measure every size without a limit and with it."""
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        for text in options.sizes:
            part = beginning(options.corpus, number(text), Path(folder, "corpus.txt"))
            pair = [measured(part, number(text), limit, options) for limit in ("", options.limit)]
            if pair[0].fingerprint != pair[1].fingerprint:
                raise SystemExit(f"{text}: the limit of memory changes the tokenizer.")
            for point in pair:
                print(row(point), file=sys.stderr, flush=True)
                yield point


def row(point: Point) -> str:
    """Write a line of the table."""
    speed = point.size / 1e6 / point.median
    return (
        f"| {spelled(point.size)} | {point.limit or 'none'} | {point.words:,} | "
        f"{point.median:.2f} | {speed:.1f} | {point.megabytes:,.0f} |"
    )


def page(found: Iterable[Point], options: argparse.Namespace) -> str:
    """Write the table, and what it was measured with."""
    machine = describe(["protok"])
    return "\n".join(
        [
            "# Training: time and memory by the size of the corpus",
            "",
            (
                "Written by `python -m benchmarks.training_sizes CORPUS`: byte-level BPE with "
                f"{options.vocabulary:,} tokens and GPT-2's cut,"
            ),
            (
                f"{options.threads} threads, from the file to a finished tokenizer; the median of "
                f"{options.repeat}, each in a new process. Memory is the most"
            ),
            (
                "that the process ever had, Python included. The limit is that of counting "
                "(`--memory`): the trainer then has the"
            ),
            "distinct words in memory. With it and without it the tokenizer is the same.",
            "",
            "| corpus | limit | distinct words | seconds | MB a second | most MB of memory |",
            "| --- | --- | --- | --- | --- | --- |",
            *map(row, found),
            "",
            "![Time and memory against the size of the corpus](training-sizes.svg)",
            "",
            (
                f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, "
                f"{machine['date'][:10]}, protok {machine['versions']['protok']} "
                f"({machine['commit']})."
            ),
            "",
        ]
    )


def plot(found: list[Point], path: Path) -> None:
    """Draw time and memory against size."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams.update({"svg.hashsalt": "protok", "svg.fonttype": "none", "font.size": 9})
    figure = Figure(figsize=(9, 3.8))
    time_axes, memory_axes = figure.subplots(1, 2)
    for limit, style in (("", "o-"), (next(p.limit for p in found if p.limit), "s--")):
        own = [point for point in found if point.limit == limit]
        sizes = [point.size for point in own]
        label = f"counting in {spelled(number(limit))}" if limit else "no limit of memory"
        time_axes.plot(sizes, [point.median for point in own], style, label=label)
        memory_axes.plot(sizes, [point.megabytes for point in own], style, label=label)
    sizes = sorted({point.size for point in found})
    linear = [found[0].median * size / sizes[0] for size in sizes]
    time_axes.plot(sizes, linear, color="0.7", linewidth=0.8, label="linear")
    for axes, title, unit in (
        (time_axes, "Time", "seconds"),
        (memory_axes, "Most memory of the process", "MB"),
    ):
        axes.set(xscale="log", yscale="log", title=title, xlabel="corpus", ylabel=unit)
        axes.set_xticks(sizes, [spelled(size) for size in sizes])
        axes.minorticks_off()
        low, high = axes.get_ylim()
        ticks = [t * 10**e for e in range(-3, 6) for t in (1, 2, 5) if low <= t * 10**e <= high]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.grid(color="0.9")
        axes.legend(fontsize=8, loc="upper left", frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure and write, or train once for a measurement."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES))
    parser.add_argument("--vocabulary", type=int, default=32_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", default=LIMIT, help="of memory for counting")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=ROOT / "docs", help="where to write")
    parser.add_argument("--scratch", type=Path, help="a folder for the parts of the corpus")
    parser.add_argument("--run", metavar="LIMIT", help=argparse.SUPPRESS)
    options = parser.parse_args(None if arguments is None else list(arguments))
    if options.run is not None:
        limit = number(options.run) if options.run else None
        print(json.dumps(one(options.corpus, options.vocabulary, options.threads, limit)))
        return
    found = list(points(options))
    (options.folder / "training-sizes.md").write_text(page(found, options), "utf-8")
    plot(found, options.folder / "training-sizes.svg")


if __name__ == "__main__":
    main()
