"""Measure what 100,000 added tokens cost: loading and encoding with them, and without.

    python -m benchmarks.added_tokens
    python -m benchmarks.added_tokens --only gemma3 --tokens 100000 --repeat 9 --megabytes 2

The tokenizers with and without are measured in turn in one process, on one thread; the ratio is
that of the medians. The text spells none of the tokens, and its ids are compared first. Three
kinds of tokens are added: control tokens, ordinary ones that are found in the text as it is, and
ones that are found in the normalized text.

Exits with 1 if a ratio is over its bound: 1.5 for loading, 1.2 for encoding. The tokens make the
file 14 MB longer, as much as all of a large vocabulary. A base whose own file is smaller than
that is shown, but not held to the bound on loading: reading those bytes alone takes longer than
all of it.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import protok
from benchmarks.texts import SHARED, prose

ARTIFACTS = ("gemma3", "gpt-oss", "llama3.1", "gpt2")
KINDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "control": lambda at: {"content": f"<|extra_{at}|>", "special": True, "normalized": False},
    "raw": lambda at: {"content": f"zq{at:06d}x", "special": False, "normalized": False},
    "normalized": lambda at: {"content": f"zq{at:06d}x", "special": False, "normalized": True},
}
LOAD, ENCODE = 1.5, 1.2
LARGE = 1 / 3  # of the bytes that the tokens take


def with_tokens(document: dict[str, Any], kind: str, count: int) -> bytes:
    """Return the file with tokens added after its own."""
    ids = [*document["model"]["vocab"].values(), *(t["id"] for t in document["added_tokens"])]
    flags = {"single_word": False, "lstrip": False, "rstrip": False}
    first = max(ids) + 1
    added = [{"id": first + at, **flags, **KINDS[kind](at)} for at in range(count)]
    larger = {**document, "added_tokens": document["added_tokens"] + added}
    return json.dumps(larger, ensure_ascii=False).encode()


def timed(work: Callable[[], object]) -> float:
    """Time one call, without the garbage collector."""
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    work()
    taken = time.perf_counter() - start
    gc.enable()
    return taken


def ratio(with_them: Callable[[], object], without: Callable[[], object], repeat: int) -> float:
    """Return the ratio of the medians of two calls that are made in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):
        times[0].append(timed(with_them))
        times[1].append(timed(without))
    return statistics.median(times[0]) / statistics.median(times[1])


def main() -> int:
    """Measure, and print a line for each artifact and kind of token."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", action="append", help="an artifact; repeatable")
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--megabytes", type=float, default=2)
    options = parser.parse_args()
    if not (SHARED / "corpus").is_dir():
        print("There is no ../shared to read artifacts and corpora from.", file=sys.stderr)
        return 2
    text = prose("*", int(options.megabytes * 1e6))
    failed = False
    print(f"{'artifact':10} {'tokens':11} {'MB':>6} {'with':>6} {'load':>6} {'encode':>7}")
    for name in options.only or ARTIFACTS:
        document = json.loads((SHARED / "artifacts" / name / "tokenizer.json").read_bytes())
        small = json.dumps(document, ensure_ascii=False).encode()
        plain = protok.Tokenizer({"tokenizer.json": small})
        for kind in KINDS:
            large = with_tokens(document, kind, options.tokens)
            many = protok.Tokenizer({"tokenizer.json": large})
            assert (
                many.encode(text, special="text").tolist()
                == plain.encode(text, special="text").tolist()
            )

            def load(data: bytes) -> Callable[[], object]:
                return lambda: protok.Tokenizer({"tokenizer.json": data})

            def encode(tok: protok.Tokenizer) -> Callable[[], object]:
                return lambda: tok.encode(text, special="parse")

            loading = ratio(load(large), load(small), options.repeat)
            encoding = ratio(encode(many), encode(plain), options.repeat)
            held = len(small) >= LARGE * (len(large) - len(small))
            failed |= encoding > ENCODE or (held and loading > LOAD)
            sizes = f"{len(small) / 1e6:6.1f} {len(large) / 1e6:6.1f}"
            note = "" if held else "  (small file: no bound on loading)"
            print(f"{name:10} {kind:11} {sizes} {loading:5.2f}x {encoding:6.2f}x{note}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
