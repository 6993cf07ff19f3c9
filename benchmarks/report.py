"""Write results down: a JSON file, tables in Markdown, and the page of the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machine import RESULTS, ROOT
from benchmarks.plan import Cell
from benchmarks.run import OWN, Samples, ratios

SUMMARY = RESULTS / "summary.json"
PAGE = ROOT / "docs/benchmarks.md"
UNITS = {"cold": "MB/s", "warm": "MB/s", "later": "MB/s", "microseconds": "µs",
         "milliseconds": "ms", "first call": "ms", "megabytes": "MB", "of output": "x"}  # fmt: skip
Json = dict[str, Any]
MADE = (
    "Made by `python -m benchmarks report` from `benchmarks/results/summary.json`; "
    "`make bench` measures again."
)
HOW = """\
Every figure is of a fresh process on one core (two where it says so), libraries in turn, in MB of
10^6 bytes of UTF-8 a second of processor time (of the clock with two threads): medians of {pairs}
with the least and the greatest; a figure without a range is one sample. *Cold* is the first pass of
the process, without loading; *warm* the second over the same text. Ids are compared with the
reference's over the whole text first; where a library differs it says so, and does not count as the
best. `2 MB` marks what was too slow for the whole text. A ratio has its 95 % interval (bootstrap
over pairs) and names the best exact library."""


def rounded(number: float) -> float:
    """Keep three digits."""
    return float(f"{number:.3g}")


def row(cell: Cell, found: dict[str, Samples]) -> Json:
    """Return the results of a cell as JSON."""
    peers = {}
    for peer, samples in found.items():
        figures = {
            name: {
                "median": rounded(samples.median(name)),
                "range": [rounded(min(values)), rounded(max(values))],
                "samples": len(values),
            }
            for name, values in samples.figures.items()
        }
        peers[peer] = {"verdict": samples.verdict, "whole": samples.whole, "figures": figures}
    compared = {
        name: {key: rounded(value) if isinstance(value, float) else value
               for key, value in asdict(found_ratio).items()}
        for name, found_ratio in ratios(cell, found).items()
    }  # fmt: skip
    return {"cell": asdict(cell), "title": cell.title, "peers": peers, "ratios": compared}


def number(value: float) -> str:
    """Spell a figure with three digits at most."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def line(result: Json, name: str) -> str:
    """Return one line for a terminal: protok and the best others in one figure of a cell."""
    cell = Cell(**result["cell"])
    known = {peer: about for peer, about in result["peers"].items() if name in about["figures"]}

    def speed(peer: str) -> float:
        median = float(known[peer]["figures"][name]["median"])
        return median if cell.lower else -median

    parts = []
    for peer in sorted((peer for peer in known if peer != OWN), key=speed)[:5]:
        about = known[peer]
        mark = "" if about["verdict"] == "exact" else f" ({about['verdict']})"
        mark += "" if about["whole"] else " (2 MB)"
        parts.append(f"{peer} {number(about['figures'][name]['median'])}{mark}")
    own = known.get(OWN)
    text = f"{result['title']} / {name} {UNITS[name]}: "
    if own:
        mark = "" if own["verdict"] == "exact" else f" ({own['verdict']})"
        text += f"protok {number(own['figures'][name]['median'])}{mark}; "
    text += ", ".join(parts) or "no other library"
    if name in result["ratios"]:
        found = result["ratios"][name]
        text += f"; {found['median']:.2f}x {found['peer']}"
        if found["pairs"] > 1:
            text += f" [{found['low']:.2f}, {found['high']:.2f}]"
    return text


def lines(result: Json) -> Iterable[str]:
    """Return a line for each figure of a cell, and one for what could not be measured."""
    names = {name for about in result["peers"].values() for name in about["figures"]}
    for name in UNITS:
        if name in names:
            yield line(result, name)
    failed = [
        f"{peer}: {about['verdict']}"
        for peer, about in result["peers"].items()
        if not about["figures"]
    ]
    if failed:
        yield "    not measured: " + "; ".join(failed)


# -- tables -------------------------------------------------------------------------------------


def _cell_text(about: Json, name: str) -> str:
    figures = about["figures"][name]
    low, high = figures["range"]
    text = number(figures["median"])
    if figures["samples"] > 1:
        text += f" ({number(low)}-{number(high)})"
    if about["verdict"] != "exact":
        text += f", {about['verdict']}"
    return text + ("" if about["whole"] else ", 2 MB")


def table(results: list[Json], name: str) -> str:
    """Return one figure of several cells as a table: libraries down, cells across."""
    kept = [
        result
        for result in results
        if any(name in about["figures"] for about in result["peers"].values())
    ]
    peers = list(dict.fromkeys(peer for result in kept for peer in result["peers"]))
    heads = [result["title"].split(" / ", 1)[1] for result in kept]
    out = ["| library | " + " | ".join(heads) + " |", "|" + " --- |" * (len(kept) + 1)]
    for peer in peers:
        cells = []
        for result in kept:
            about = result["peers"].get(peer)
            cells.append(_cell_text(about, name) if about and name in about["figures"] else "")
        if any(cells):
            out.append(f"| {peer} | " + " | ".join(cells) + " |")
    best = []
    for result in kept:
        found = result["ratios"].get(name)
        best.append(f"{found['median']:.2f} [{found['low']:.2f}, {found['high']:.2f}] "
                    f"{found['peer']}" if found else "")  # fmt: skip
    out.append("| **ratio to the best exact** | " + " | ".join(best) + " |")
    return "\n".join(out)


def page(report: Json) -> str:
    """Return the page of the documentation for a report."""
    machine = report["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    about = f"{machine['date'][:10]}, commit {machine['commit']}, {machine['processor']}, "
    about += f"{machine['cores']} cores, {machine['system']}. Versions: {versions}."
    out = ["# Benchmarks", "", MADE, "", about, ""]
    out.append(HOW.format(pairs=report["pairs"]))
    groups: dict[tuple[str, str], list[Json]] = {}
    for result in report["results"]:
        cell = result["cell"]
        group = (cell["job"], cell["vocabulary"])
        if cell["job"] in ("start", "import", "peak", "threads"):
            group = (cell["job"], "")
        groups.setdefault(group, []).append(result)
    for (job, vocabulary), results in groups.items():
        out += ["", f"## {job} {vocabulary}".rstrip()]
        names = {name for result in results for about in result["peers"].values()
                 for name in about["figures"]}  # fmt: skip
        for name, unit in UNITS.items():
            if name in names:
                out += ["", f"{name}, {unit}", "", table(results, name)]
    return "\n".join(out) + "\n"


def write(report: Json, out: Path) -> None:
    """Write a report."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")
