"""Compare protok's ids with the references', on corpora and on seeded random text.

    python tests/differential/run.py                     everything; takes a while
    python tests/differential/run.py --small             a sample of everything, in a minute
    python tests/differential/run.py --only qwen3 --random 100000 --seed 7

Prints a table, and for every artifact that differs the shortest differing text that was found.
Exits with 1 if anything differs, with 2 if there is nothing to compare with.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer

import protok

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
HUGGING_FACE = (
    "gpt2", "roberta-robbert-1k", "claude-old", "clip", "llama3.1", "qwen3", "deepseek-v3",
    "gpt-oss",
)  # fmt: skip
RANK_FILES = {
    "tiktoken:r50k_base": "r50k_base",
    "tiktoken:p50k_base": "p50k_base",
    "tiktoken:cl100k_base": "cl100k_base",
    "tiktoken:o200k_base": "o200k_base",
}
SMALL_FILE = 4_000  # characters of each corpus file
SMALL_FILES = 60
Encode = Callable[[str], list[int]]


@dataclass
class Pair:
    """One artifact, encoded by protok and by its reference."""

    ours: Encode
    theirs: Encode
    special: list[str]

    def differ(self, text: str) -> bool:
        """Tell whether the ids of a text differ; an error of protok is a difference."""
        try:
            return self.ours(text) != self.theirs(text)
        except protok.ProtokError:
            return True


def hugging_face(name: str) -> Pair:
    """Pair a tokenizer.json, alone, with tokenizers."""
    path = SHARED / "artifacts" / name / "tokenizer.json"
    reference = Tokenizer.from_file(str(path))
    reference.no_truncation()
    reference.no_padding()
    tok = protok.Tokenizer({"tokenizer.json": path.read_bytes()})
    added = [token.content for token in reference.get_added_tokens_decoder().values()]
    return Pair(
        lambda text: tok.encode(text, add_special_tokens=False, special="parse").tolist(),
        lambda text: list(reference.encode(text, add_special_tokens=False).ids),
        added,
    )


def rank_file(encoding: str) -> Pair:
    """Pair a rank file with tiktoken."""
    folder = SHARED / "artifacts/tiktoken"
    described = json.loads((folder / "encodings.json").read_text("utf-8"))[encoding]
    path = folder / described["rank_file"]
    reference = tiktoken.Encoding(
        encoding,
        pat_str=described["pat_str"],
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens=described["special_tokens"],
    )
    tok = protok.load(path, encoding=encoding)
    return Pair(
        lambda text: tok.encode(text, special="parse").tolist(),
        lambda text: reference.encode(text, allowed_special="all"),
        list(described["special_tokens"]),
    )


# -- texts ------------------------------------------------------------------------------------


def corpus(*, small: bool, source: random.Random) -> Iterator[tuple[str, str]]:
    """Yield every file of the corpus with its name, or a sample."""
    paths = sorted(
        path
        for folder in ("prose", "slices", "parallel")
        for path in (SHARED / "corpus" / folder).rglob("*")
        if path.suffix in {".txt", ".md"}
    )
    for path in source.sample(paths, SMALL_FILES) if small else paths:
        text = path.read_bytes().decode("utf-8")
        if small and len(text) > SMALL_FILE:
            start = source.randrange(len(text) - SMALL_FILE)
            text = text[start : start + SMALL_FILE]
        yield str(path.relative_to(SHARED)), text


# First and last code point of what is drawn from; the last block has unassigned ones.
ALPHABETS = [
    (0x20, 0x7E), (0x61, 0x7A), (0x30, 0x39), (0xA0, 0x17F), (0x300, 0x36F), (0x370, 0x3FF),
    (0x400, 0x4FF), (0x590, 0x6FF), (0x900, 0xDFF), (0xE00, 0xFFF), (0x1100, 0x11FF),
    (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2150, 0x218F), (0x3040, 0x30FF), (0x4E00, 0x9FFF),
    (0xA640, 0xA6FF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFE00, 0xFE2F), (0xFF00, 0xFFEF),
    (0x10000, 0x10FFF), (0x1D400, 0x1D7FF), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1FAFF),
    (0x20000, 0x2A6DF), (0xE0020, 0xE01EF), (0x0, 0x1F), (0x7F, 0x9F), (0x370, 0x10FFFF),
]  # fmt: skip
SCRAPS = [
    " ", "  ", "\n", "\r\n", "\n\n", "\t", "\u00a0", "\u3000", "\u0085", "\u2028", "\x1c", "\x1f",
    "'s", "'S", "'ll", "'LL", "\u2019s", "'\u017f", "n't", "123", "1234567", "\u0660\u0661",
    "\u00bd", "\u2167", "e\u0301", "\u00e9", "\u212b", "\ufb01", "\u0130", "\u03a3", "\u01c5",
    "\U0001f408\u200d\u2b1b", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "\u200d", "\ufe0f",
    "\ufeff", "\ufffd", "\ufffe", "\U0010ffff", "https://x.y/z?q=1", "<|", "|>", "<s>", "</s>",
    "<|end", "<|endoftext", "<|endoftext |>", "[INST]", "<unk>", "\u2581", "\u0120", "##", "_",
    "the ", " The", "hello", "CamelCaseWord", "...", "!!!", "----", "==", "{}", "();", "\\n",
]  # fmt: skip


def random_text(source: random.Random, special: list[str]) -> str:
    """Make a text of a few runs, each of one kind."""
    runs = []
    for _ in range(source.choice([1, 2, 3, 5, 8, 13])):
        kind = source.random()
        if kind < 0.45:
            first, last = source.choice(ALPHABETS)
            length = source.choice([1, 1, 2, 3, 5, 9, 20])
            run = "".join(chr(source.randint(first, last)) for _ in range(length))
            runs.append("".join(char for char in run if not "\ud800" <= char <= "\udfff"))
        elif kind < 0.93 or not special:
            runs.append(source.choice(SCRAPS) * source.choice([1, 1, 1, 2, 3, 7]))
        else:
            token = source.choice(special)
            cut = source.choice([len(token), len(token), max(1, len(token) - 1)])
            runs.append(token[:cut])
    return "".join(runs)


# -- comparing --------------------------------------------------------------------------------


def shortest(differ: Callable[[str], bool], text: str) -> str:
    """Cut a differing text down while it still differs."""
    size = max(1, len(text) // 2)
    while size:
        start = 0
        while start < len(text):
            shorter = text[:start] + text[start + size :]
            if shorter and differ(shorter):
                text = shorter
            else:
                start += size
        size //= 2
    return text


def lines_around(pair: Pair, text: str) -> str:
    """Find a differing line first, since shortening a book takes long."""
    for line in text.splitlines(keepends=True):
        if pair.differ(line):
            return line
    return text


def compare(pair: Pair, *, small: bool, count: int, seed: int) -> tuple[int, int, int, list[str]]:
    """Return the texts, characters, differences and the differing texts of one artifact."""
    texts = characters = 0
    differing: list[str] = []
    source = random.Random(seed)  # the Mersenne Twister
    for _, text in corpus(small=small, source=source):
        texts, characters = texts + 1, characters + len(text)
        if pair.differ(text):
            differing.append(lines_around(pair, text))
    for _ in range(count):
        text = random_text(source, pair.special)
        texts, characters = texts + 1, characters + len(text)
        if pair.differ(text):
            differing.append(text)
    return texts, characters, len(differing), differing


def main() -> int:
    """Compare every artifact and say how it went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--small", action="store_true", help="a sample of everything")
    parser.add_argument("--only", action="append", help="an artifact of the table; repeatable")
    parser.add_argument("--random", type=int, help="random texts for each artifact")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not (SHARED / "artifacts").is_dir():
        print("There is no ../shared to read artifacts and corpora from.", file=sys.stderr)
        return 2
    count = options.random if options.random is not None else 500 if options.small else 20_000
    names = options.only or [*HUGGING_FACE, *RANK_FILES]
    print(f"{'artifact':24} {'texts':>8} {'characters':>12} {'differ':>7} {'seconds':>8}")
    failed = False
    for name in names:
        start = time.monotonic()
        pair = rank_file(RANK_FILES[name]) if name in RANK_FILES else hugging_face(name)
        texts, characters, differ, differing = compare(
            pair, small=options.small, count=count, seed=options.seed
        )
        seconds = time.monotonic() - start
        print(f"{name:24} {texts:8,} {characters:12,} {differ:7,} {seconds:8.1f}", flush=True)
        if differing:
            failed = True
            text = shortest(pair.differ, min(differing, key=len))
            print(f"  shortest: {text!r} {[f'U+{ord(char):04X}' for char in text[:20]]}")
            print(f"  reference {pair.theirs(text)}")
            try:
                print(f"  protok    {pair.ours(text)}")
            except protok.ProtokError as error:
                print(f"  protok    {type(error).__name__}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
