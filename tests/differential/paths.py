"""Compare protok's two paths: ids and byte spans of the fast one with the reference path's.

    python tests/differential/paths.py                   everything; takes a while
    python tests/differential/paths.py --lines 3000      all, but a sample of the corpora
    python tests/differential/paths.py --small           a sample of everything
    python tests/differential/paths.py --only qwen3 --random 100000 --seed 7

The texts are the lines of the corpora, the golden inputs, and seeded random ones. Prints a table,
and for every artifact that differs the shortest differing text that was found. Exits with 1 if
anything differs, with 2 if there is nothing to compare with.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import protok

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from differential.artifacts import GGUF, HUGGING_FACE, RWKV, SENTENCEPIECE, TEKKEN, TOYS
from differential.texts import SHARED, corpus, random_text, shortest

ARTIFACTS = {
    **{name: f"{name}/tokenizer.json" for name in HUGGING_FACE},
    **{f"toy.{name}": f"toy/{name}.json" for name in TOYS},
    **{f"sentencepiece.{name}": path for name, path in SENTENCEPIECE.items()},
    **{f"gguf.{name}": f"gguf/ggml-vocab-{name}.gguf" for name in GGUF},
    **{
        f"tiktoken.{name}": f"tiktoken/{name}.tiktoken"
        for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")
    },
    "tiktoken.llama3": "llama3.1/tokenizer.model",
    "tiktoken.whisper": "whisper/multilingual.tiktoken",
    "tekken": TEKKEN,
    "rwkv": RWKV,
}
LONGEST = 400  # characters of a line: the reference path is naive
SMALL_LINES = 300
BATCH = 20_000  # texts at a time
Token = tuple[int, tuple[int, int]]


class Paths:
    """The two paths of one artifact."""

    def __init__(self, path: Path) -> None:
        if path.suffix != ".json" and (path.parent / "encoding.json").is_file():
            self.tok = protok.load(path)  # a rank file: its pattern stands beside it
        else:
            encoding = path.stem if path.suffix == ".tiktoken" else None
            self.tok = protok.load(path.read_bytes(), encoding=encoding)
        self.special = [token.content for token in self.tok.added_tokens]

    def fast(self, text: str) -> list[Token]:
        """Return ids and byte spans as encode gives them."""
        encoding = self.tok.encode(text, special="parse")
        spans = encoding.spans("byte").tolist()
        return [(id, (start, end)) for id, (start, end) in zip(encoding, spans, strict=True)]

    def reference(self, text: str) -> list[Token]:
        """Return ids and byte spans as the trace records them."""
        tokens = json.loads(self.tok.trace_json(text, special="parse"))["tokens"]
        return [(token["id"], tuple(token["span"])) for token in tokens]

    def differ(self, text: str) -> bool:
        """Tell whether the paths say different things of a text."""
        return bool(self.differing([text]))

    def differing(self, texts: list[str]) -> list[str]:
        """Return the texts of which the paths say different things."""
        return [texts[index] for index in self.tok.differing_paths(texts, special="parse")]


def golden_inputs() -> Iterator[str]:
    """Yield the golden inputs."""
    for line in (SHARED / "golden/inputs.jsonl").read_text("utf-8").split("\n"):
        if line:
            yield json.loads(line)["text"]


def lines(*, small: bool, most: int | None, source: random.Random) -> Iterator[str]:
    """Yield the lines of the corpora, cut where they are long, or a sample of at most ``most``."""
    found = [
        line[start : start + LONGEST]
        for _, text in corpus(small=small, source=source)
        for line in text.splitlines(keepends=True)
        for start in range(0, len(line), LONGEST)
    ]
    yield from found if most is None else source.sample(found, min(most, len(found)))


def texts(
    special: list[str], *, small: bool, most: int | None, count: int, seed: int
) -> Iterator[str]:
    """Yield everything that an artifact is compared on."""
    source = random.Random(seed)  # the Mersenne Twister
    if not small:
        yield from golden_inputs()
    yield from lines(small=small, most=most, source=source)
    for _ in range(count):
        yield random_text(source, special)


def batched(every: Iterator[str]) -> Iterator[list[str]]:
    """Yield lists of texts, enough to keep all cores at work."""
    while some := list(itertools.islice(every, BATCH)):
        yield some


def show(paths: Paths, text: str) -> None:
    """Print the shortest differing text, and what each path says."""
    text = shortest(paths.differ, text)
    print(f"  shortest  {text!r} {[f'U+{ord(char):04X}' for char in text[:20]]}")
    for path in (paths.reference, paths.fast):
        try:
            print(f"  {path.__name__:9} {path(text)}")
        except protok.ProtokError as error:
            print(f"  {path.__name__:9} {type(error).__name__}: {error}")


def main() -> int:
    """Compare the paths of every artifact and say how it went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--small", action="store_true", help="a sample of everything")
    parser.add_argument("--only", action="append", help="an artifact of the table; repeatable")
    parser.add_argument("--lines", type=int, help="at most so many lines of the corpora")
    parser.add_argument("--random", type=int, help="random texts for each artifact")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not (SHARED / "artifacts").is_dir():
        print("There is no ../shared to read artifacts and corpora from.", file=sys.stderr)
        return 2
    count = options.random if options.random is not None else 200 if options.small else 20_000
    most = options.lines if options.lines is not None else SMALL_LINES if options.small else None
    print(f"{'artifact':26} {'texts':>8} {'characters':>12} {'differ':>7} {'seconds':>8}")
    failed = False
    for name in options.only or ARTIFACTS:
        start = time.monotonic()
        paths = Paths(SHARED / "artifacts" / ARTIFACTS[name])
        compared = characters = 0
        differing: list[str] = []
        every = texts(paths.special, small=options.small, most=most, count=count, seed=options.seed)
        for some in batched(every):
            compared, characters = compared + len(some), characters + sum(map(len, some))
            differing += paths.differing(some)
        print(
            f"{name:26} {compared:8,} {characters:12,} {len(differing):7,} "
            f"{time.monotonic() - start:8.1f}",
            flush=True,
        )
        if differing:
            failed = True
            show(paths, min(differing, key=len))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
