"""Time every trainer on a corpus that is one word, and see how that grows with its length.

    python -m benchmarks.hostile_training                          200 KB, 2 MB and 10 MB
    python -m benchmarks.hostile_training --sizes 200000 20000000 --only bpe --texts DNA

Each run is a process of its own. The table has seconds and the most memory for each length, and the
exponent e of time ~ length^e between the shortest and the longest: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.machine import ROOT

Json = dict[str, Any]
SIZES = (200_000, 2_000_000, 10_000_000)
TOKENS = 4_000
TEXTS: dict[str, Callable[[int], str]] = {
    "DNA": lambda length: "".join(random.Random(1).choices("ACGT", k=length)),
    "one letter": lambda length: "a" * length,
    "ideographs": lambda length: "".join(
        random.Random(2).choices([chr(0x4E00 + i) for i in range(3000)], k=length // 3)
    ),
    "code without blanks": lambda length: "".join(
        random.Random(3).choices(("self", ".", "(", ")", "return", "=", "value", "[0]"), k=length)
    )[:length],
}
CHARACTERS: Json = {"symbols": "characters", "pre_tokenizer": None, "decoder": None}
TRAINERS: dict[str, Json] = {
    "bpe": {"pre_tokenizer": None},
    "bpe of characters": CHARACTERS,
    "bpe without intermediate tokens": {**CHARACTERS, "remove_intermediate": 0.9},
    "wordpiece": {"model": "wordpiece", "pre_tokenizer": None, "decoder": None},
    "wordpiece by likelihood": {
        "model": "wordpiece",
        "scoring": "likelihood",
        "pre_tokenizer": None,
        "decoder": None,
    },
    "unigram": {"model": "unigram", "pre_tokenizer": None, "decoder": None},
}


def one(trainer: str, text: str, size: int) -> Json:
    """Train once, in this process."""
    from protok.training import Recipe, run

    word = TEXTS[text](size)
    recipe = Recipe(vocab_size=TOKENS, fewer="accept", **TRAINERS[trainer])
    start = time.perf_counter()
    tokens = run(recipe, [word]).tokenizer.vocab.size
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {"seconds": seconds, "megabytes": memory, "tokens": tokens}


def measured(trainer: str, text: str, size: int) -> Json:
    """Train once, in a new process."""
    command = [sys.executable, "-m", "benchmarks.hostile_training"]
    command += ["--run", trainer, text, str(size)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{trainer} on {text}: {done.stderr}")
    found: Json = json.loads(done.stdout)
    return found


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure and print, or train once for a measurement."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--only", nargs="+", choices=TRAINERS, default=list(TRAINERS))
    parser.add_argument("--texts", nargs="+", choices=TEXTS, default=list(TEXTS))
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(None if arguments is None else list(arguments))
    if options.run:
        trainer, text, size = options.run
        print(json.dumps(one(trainer, text, int(size))))
        return
    sizes = sorted(options.sizes)
    print("| trainer | one word of |", *(f"{size:,} bytes: s, MB |" for size in sizes), "e |")
    print("|---" * (len(sizes) + 3) + "|")
    for trainer in options.only:
        for text in options.texts:
            runs = [measured(trainer, text, size) for size in sizes]
            cells = [f"{run['seconds']:.2f}, {run['megabytes']:.0f}" for run in runs]
            grown = math.log(runs[-1]["seconds"] / runs[0]["seconds"])
            exponent = grown / math.log(sizes[-1] / sizes[0]) if len(sizes) > 1 else math.nan
            print(f"| {trainer} | {text} |", *(f"{c} |" for c in cells), f"{exponent:.2f} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
