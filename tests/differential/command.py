"""A command that checks every artifact with as many random cases as it is told."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from differential.paths import ARTIFACTS
from differential.texts import SHARED

# Of an artifact, a number and a seed: how many were made, another figure, and what failed.
Check = Callable[[str, int, int], tuple[int, str, list[str]]]
SHOWN = 600  # characters of a failure


def run(doc: str | None, unit: str, other: str, check: Check) -> int:
    """Check the artifacts that the command line names, and say how it went.

    ``unit`` is what is made, and the name of the option that says how many over all artifacts;
    ``other`` is what the other figure says.
    """
    parser = argparse.ArgumentParser(description=(doc or "").split("\n", 1)[0])
    parser.add_argument(f"--{unit}", dest="count", type=int, default=100_000, metavar="N")
    parser.add_argument("--only", action="append", choices=[*ARTIFACTS], help="repeatable")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not (SHARED / "artifacts").is_dir():
        print("There is no ../shared to read artifacts and corpora from.", file=sys.stderr)
        return 2
    names = options.only or [*ARTIFACTS]
    total, failed = 0, False
    print(f"{'artifact':34} {unit:>10} {other:>8} {'fail':>6} {'seconds':>8}")
    for name in names:
        start = time.monotonic()
        made, figure, failures = check(name, -(-options.count // len(names)), options.seed)
        total += made
        seconds = time.monotonic() - start
        print(f"{name:34} {made:10,} {figure:>8} {len(failures):6,} {seconds:8.1f}", flush=True)
        if failures:
            failed = True
            print(f"  {min(failures, key=len)[:SHOWN]}")
    print(f"{total:,} {unit}")
    return 1 if failed else 0
