"""The command line: ``python -m benchmarks [measure | goals | prepare | install | report]``.

``measure`` (the default) measures cells and prints a line for each; ``goals`` holds protok to its
bounds; ``prepare`` makes texts and vocabularies; ``install`` installs the pinned libraries;
``report`` writes the page of the documentation from the committed summary, which ``--take FILE``
replaces first by the results of a run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import goals, machine, report, texts, vocabularies
from benchmarks.peers import PEERS, pins
from benchmarks.plan import Cell, cells
from benchmarks.run import OWN, Runner

QUICK = 2.0  # MB


def names(value: str) -> list[str]:
    """Read a list with commas."""
    return [name.strip() for name in value.split(",") if name.strip()]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    commands = ("measure", "goals", "prepare", "install", "report")
    parser.add_argument("command", nargs="?", default="measure", choices=commands)
    parser.add_argument("--data", type=Path, default=texts.DATA, help="texts and vocabularies")
    parser.add_argument("--quick", action="store_true", help="2 MB of text, one sample of each")
    parser.add_argument("--full", action="store_true", help="the whole cross of cells: a day")
    parser.add_argument("--only", type=names, help="vocabularies")
    parser.add_argument("--text", type=names, help="texts")
    parser.add_argument("--peers", type=names, help="libraries beside protok")
    parser.add_argument("--job", type=names, help="jobs; cold is encode without the second pass")
    parser.add_argument("--shape", type=names, help="documents, short, one, file")
    parser.add_argument("--output", type=names, help="flat, list, offsets")
    parser.add_argument("--goal", help="goals: a regular expression on the name of the row")
    parser.add_argument("--pairs", type=int, help="samples of each (11; with --quick 1)")
    parser.add_argument("--best", type=int, default=2, help="how many of the fastest are sampled")
    parser.add_argument("--every", action="store_true", help="all libraries on the whole text")
    parser.add_argument("--megabytes", type=float, help="at most so much text")
    parser.add_argument("--limit", type=float, default=180, help="seconds for one sample")
    parser.add_argument("--cores", type=names, help="the cores to use, the last ones by default")
    parser.add_argument("--no-fetch", action="store_true", help="prepare: only what is there")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    parser.add_argument("--take", type=Path, help="report: the results that become the summary")
    return parser.parse_args()


def wanted(options: argparse.Namespace) -> Iterator[Cell]:
    """Return the cells that were asked for."""
    jobs = [{"cold": "encode", "warm": "encode"}.get(job, job) for job in options.job or ()]
    # what names a shape, an output or a text asks for cells beyond the usual ones
    full = options.full or bool(options.shape or options.output)
    for cell in cells(full=full):
        chosen = (
            (not options.only or cell.vocabulary in options.only)
            and (not options.text or cell.text in options.text)
            and (not options.job or cell.job in jobs)
            and (not options.shape or cell.shape in options.shape)
            and (not options.output or cell.output in options.output)
        )
        if chosen:
            yield shortened(cell, options)


def shortened(cell: Cell, options: argparse.Namespace) -> Cell:
    """Return the cell on no more text than wanted."""
    if options.quick:
        cell = cell.shortened(QUICK)
    return cell.shortened(options.megabytes) if options.megabytes else cell


def cores(options: argparse.Namespace) -> list[int]:
    """Return the cores for samples, the one of those with one thread first."""
    if options.cores:
        return [int(core) for core in options.cores]
    found = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}
    return sorted(found, reverse=True)


def libraries(options: argparse.Namespace) -> list[str]:
    """Return protok and the libraries that are installed and asked for."""
    installed = machine.versions(distribution for distribution, _, _ in PEERS.values())
    found = [name for name, (distribution, _, _) in PEERS.items() if distribution in installed]
    pinned = pins()["versions"]
    for name in found:
        distribution = PEERS[name][0]
        if distribution in pinned and installed[distribution] != pinned[distribution]:
            print(f"{distribution} is {installed[distribution]}, not {pinned[distribution]}: "
                  "python -m benchmarks install", file=sys.stderr)  # fmt: skip
    wanted = options.peers and {OWN, *options.peers}
    return [name for name in found if not wanted or {name, PEERS[name][0]} & wanted]


def measure(options: argparse.Namespace, runner: Runner, pairs: int) -> int:
    """Measure the cells, and write the results."""
    results: list[dict[str, Any]] = []
    head = machine.describe(distribution for distribution, _, _ in PEERS.values())
    stamp = head["date"].replace(":", "").replace("+0000", "Z")
    out = options.out or options.data / f"results/measure-{stamp}.json"
    warm = options.job != ["cold"]
    for cell in wanted(options):
        found = runner.measure(
            cell, libraries(options), pairs=pairs, best=options.best, warm=warm, every=options.every
        )
        results.append(report.row(cell, found))
        for line in report.lines(results[-1]):
            print(line, flush=True)
        whole = {"machine": head, "pairs": pairs, "quick": options.quick, "results": results}
        report.write(whole, out)
    print(f"\nWritten to {out}.")
    return 0


def chosen_goals(options: argparse.Namespace) -> Iterator[goals.Goal]:
    """Return the goals that were asked for."""
    for goal in goals.goals():
        cell = shortened(goal.cell, options)
        if (
            (not options.only or cell.vocabulary in options.only)
            and (not options.text or cell.text in options.text)
            and (not options.job or cell.job in options.job)
            and (not options.goal or re.search(options.goal, f"{goal.group}: {cell.title}"))
        ):
            yield replace(goal, cell=cell)


def judge(options: argparse.Namespace, runner: Runner, pairs: int) -> int:
    """Hold protok to its goals."""
    outcomes = []
    measured: dict[Cell, Any] = {}
    for goal in chosen_goals(options):
        cell = goal.cell
        if cell.job == "threads":
            outcomes.append(goals.threads(goal, runner, pairs))
        else:
            if cell not in measured:
                peers = [OWN] if cell.job == "peak" else libraries(options)
                measured[cell] = runner.measure(cell, peers, pairs=pairs, best=options.best)
            outcomes.append(goals.outcome(goal, measured[cell], pairs))
        print(outcomes[-1].line(), flush=True)
    head = machine.describe(distribution for distribution, _, _ in PEERS.values())
    stamp = head["date"].replace(":", "").replace("+0000", "Z")
    out = options.out or options.data / f"results/goals-{stamp}.json"
    results = [report.row(cell, found) for cell, found in measured.items()]
    judged = [asdict(one) for one in outcomes]
    report.write({"machine": head, "pairs": pairs, "goals": judged, "results": results}, out)
    held = sum(one.holds for one in outcomes)
    print(f"\n{held} of {len(outcomes)} hold. Written to {out}.")
    return 0 if held == len(outcomes) else 1


def install() -> int:
    """Install the pinned libraries, one by one: some may not be there for this machine."""
    missing = []
    for group in ("support", "versions"):
        for name, version in pins()[group].items():
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
            done = subprocess.run([*command, f"{name}=={version}"], check=False)
            if done.returncode:
                missing.append(name)
    print("not installed: " + ", ".join(missing) if missing else "all are installed")
    return 0


def main() -> int:
    """Do what the command line says."""
    options = arguments()
    options.data = options.data.resolve()
    if options.command == "install":
        return install()
    if options.command == "report":
        if options.take:
            report.write(json.loads(options.take.read_text("utf-8")), report.SUMMARY)
        summary = json.loads(report.SUMMARY.read_text("utf-8"))
        report.PAGE.write_text(report.page(summary), "utf-8")
        print(f"Written to {report.PAGE}.")
        return 0
    texts.make(options.data, fetch=not options.no_fetch)
    vocabularies.make(options.data)
    if options.command == "prepare":
        return 0
    runner = Runner(options.data, cores(options), options.limit)
    pairs = options.pairs or (1 if options.quick else goals.PAIRS)
    return (judge if options.command == "goals" else measure)(options, runner, pairs)


if __name__ == "__main__":
    raise SystemExit(main())
