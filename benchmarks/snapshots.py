"""Measure how long it takes from a file to the first id, with a snapshot and without.

    python -m benchmarks.snapshots
    python -m benchmarks.snapshots --only o200k --repeat 21

Each sample is a process of its own that has imported protok. Samples with and without take turns;
shown are the least and the median in milliseconds, and of those with a snapshot also the time of
the first text decoded, which needs what the first text encoded did not. The ids with and without
are compared first. Exits with 1 if the least time with a snapshot is over its bound.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.texts import SHARED

BOUND = 15.0
ARTIFACTS: dict[str, tuple[str, dict[str, str]]] = {
    "o200k": ("tiktoken/o200k_base.tiktoken", {"encoding": "o200k_base"}),
    "llama3.1": ("llama3.1/tokenizer.json", {}),
    "gpt-oss": ("gpt-oss/tokenizer.json", {}),
}
SAMPLE = """
import json, sys, time, warnings
import protok
warnings.simplefilter("ignore")
path, options, cache = json.loads(sys.argv[1])
start = time.perf_counter()
tok = protok.load(path, **options, cache=cache)
enc = tok.encode("Hello world")
ids = enc.tolist()
first = time.perf_counter() - start
start = time.perf_counter()
text = tok.decode(ids)
decoded = time.perf_counter() - start
more = tok.encode("naïve 東京 x=12345\\n\\n don't").tolist()
print(json.dumps([first * 1e3, decoded * 1e3, tok.from_snapshot, [ids, text, more]]))
"""


def sample(path: Path, options: dict[str, str], folder: str | None) -> list[Any]:
    """Load in a new process, with a folder of snapshots or none; return its times and results."""
    request = json.dumps([str(path), options, folder or False])
    command = [sys.executable, "-c", SAMPLE, request]
    answer: list[Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return answer


def main() -> int:
    """Measure, and print a line for each artifact."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", action="append", choices=[*ARTIFACTS], help="repeatable")
    parser.add_argument("--repeat", type=int, default=11)
    chosen = parser.parse_args()
    print(f"{'artifact':10} {'without':>15} {'with':>15} {'then decode':>12} {'MB':>6}")
    failed = False
    for name in chosen.only or ARTIFACTS:
        path, options = SHARED / "artifacts" / ARTIFACTS[name][0], ARTIFACTS[name][1]
        with tempfile.TemporaryDirectory() as folder:
            sample(path, options, folder)
            (snapshot,) = Path(folder).iterdir()
            size = snapshot.stat().st_size / 1e6
            without, with_one, decoded = [], [], []
            for _ in range(chosen.repeat):
                plain, kept = sample(path, options, None), sample(path, options, folder)
                if plain[2:] != [False, kept[3]] or kept[2] is not True:
                    print(f"{name}: not the same, or no snapshot", file=sys.stderr)
                    return 1
                without.append(plain[0])
                with_one.append(kept[0])
                decoded.append(kept[1])
        failed |= min(with_one) > BOUND
        both = [f"{min(t):.1f} / {statistics.median(t):.1f}" for t in (without, with_one)]
        then = f"{statistics.median(decoded):.1f}"
        print(f"{name:10} {both[0]:>15} {both[1]:>15} {then:>12} {size:6.1f}", flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
