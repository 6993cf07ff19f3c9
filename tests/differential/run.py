"""Compare ids and decoded text with the references, on corpora, random text and Hypothesis's.

    python tests/differential/run.py                     everything; takes hours
    python tests/differential/run.py --small             a sample of everything, in minutes
    python tests/differential/run.py --files 8 --random 2000 --hypothesis 2000
    python tests/differential/run.py --only qwen3 --random 100000 --seed 7
    python tests/differential/run.py --only sentencepiece --only toy

Prints a table, and for every artifact that differs the shortest differing text that was found.
Says on standard error how far it is. Exits with 1 if anything differs, with 2 if there is nothing
to compare with.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from differential.references import Pair, every
from differential.texts import SHARED, corpus, hypothesis_texts, random_text, shortest

import protok

EVERY_SECONDS = 10  # that it says how far it is


@dataclass
class Result:
    """What comparing one artifact found."""

    texts: int = 0
    characters: int = 0
    differing: list[str] = field(default_factory=list)


def chosen(only: list[str] | None) -> list[str]:
    """Return the artifacts that were asked for: by name, or by what stands before its colon."""
    names = list(every())
    if not only:
        return names
    found = [name for name in names if name in only or name.partition(":")[0] in only]
    unknown = [
        name
        for name in only
        if name not in names and not any(known.startswith(f"{name}:") for known in names)
    ]
    if unknown:
        raise SystemExit(f"No artifact is called {', '.join(unknown)}: {', '.join(names)}")
    return found


def lines_around(pair: Pair, text: str) -> str:
    """Find a differing line first, since shortening a book takes long."""
    for line in text.splitlines(keepends=True):
        if pair.differ(line):
            return line
    return text


def texts_of(
    pair: Pair, *, small: bool, files: int | None, count: int, generated: int, seed: int
) -> Iterator[tuple[str, str]]:
    """Yield every text with where it is from."""
    source = random.Random(seed)  # the Mersenne Twister
    yield from corpus(small=small, source=source, files=files)
    for _ in range(count):
        yield "random", random_text(source, pair.special)
    for text in hypothesis_texts(pair.special, count=generated, seed=seed):
        yield "hypothesis", text


def compare(name: str, pair: Pair, texts: Iterator[tuple[str, str]]) -> Result:
    """Compare all texts of one artifact, saying now and then how far it is."""
    result, said = Result(), time.monotonic()
    for origin, text in texts:
        result.texts += 1
        result.characters += len(text)
        if pair.differ(text):
            result.differing.append(lines_around(pair, text))
        if time.monotonic() - said > EVERY_SECONDS:
            said = time.monotonic()
            print(
                f"  {name}: {result.texts:,} texts, {result.characters:,} characters, "
                f"{len(result.differing):,} differ; at {origin}",
                file=sys.stderr,
                flush=True,
            )
    return result


def show(pair: Pair, text: str) -> None:
    """Print the shortest differing text, and what each side says."""
    text = shortest(pair.differ, text)
    print(f"  shortest  {text!r} {[f'U+{ord(char):04X}' for char in text[:20]]}")
    ids = pair.theirs(text)
    print(f"  reference {ids} {pair.their_text(ids)!r}")
    try:
        print(f"  protok    {pair.ours(text)} {pair.our_text(ids)!r}")
    except protok.ProtokError as error:
        print(f"  protok    {type(error).__name__}: {error}")


def main() -> int:
    """Compare every artifact and say how it went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--small", action="store_true", help="a sample of everything")
    parser.add_argument(
        "--only", action="append", help="an artifact of the table, or its kind; repeatable"
    )
    parser.add_argument("--files", type=int, help="at most so many files of the corpora")
    parser.add_argument("--random", type=int, help="random texts for each artifact")
    parser.add_argument("--hypothesis", type=int, help="texts of Hypothesis for each artifact")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not (SHARED / "artifacts").is_dir():
        print("There is no ../shared to read artifacts and corpora from.", file=sys.stderr)
        return 2
    count = options.random if options.random is not None else 200 if options.small else 20_000
    generated = options.hypothesis
    if generated is None:
        generated = 100 if options.small else 20_000
    pairs = every()
    head = f"{'artifact':34} {'reference':28}"
    print(f"{head} {'texts':>8} {'characters':>12} {'differ':>7} {'seconds':>8}")
    failed = False
    for name in chosen(options.only):
        start = time.monotonic()
        pair = pairs[name]()
        texts = texts_of(
            pair,
            small=options.small,
            files=options.files,
            count=count,
            generated=generated,
            seed=options.seed,
        )
        result = compare(name, pair, texts)
        print(
            f"{name:34} {pair.reference:28} {result.texts:8,} {result.characters:12,} "
            f"{len(result.differing):7,} {time.monotonic() - start:8.1f}",
            flush=True,
        )
        if result.differing:
            failed = True
            show(pair, min(result.differing, key=len))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
