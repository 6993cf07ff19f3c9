"""The texts that are compared: the corpora, and seeded random ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
from hypothesis import strategies

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
SMALL_FILE = 3_000  # characters of each corpus file
SMALL_FILES = 40


def corpus(
    *, small: bool, source: random.Random, files: int | None = None
) -> Iterator[tuple[str, str]]:
    """Yield every file of the corpus with its name, or a sample of ``files`` of them."""
    paths = sorted(
        path
        for folder in ("prose", "slices", "parallel")
        for path in (SHARED / "corpus" / folder).rglob("*")
        if path.suffix in {".txt", ".md"}
    )
    if files is None and small:
        files = SMALL_FILES
    for path in paths if files is None else source.sample(paths, min(files, len(paths))):
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


def hypothesis_texts(special: list[str], *, count: int, seed: int) -> list[str]:
    """Return ``count`` texts of Hypothesis, of the same kinds of runs and of any characters."""
    drawn: list[str] = []
    if count == 0:
        return drawn
    alphabets = [
        strategies.text(
            strategies.characters(
                min_codepoint=first, max_codepoint=last, exclude_categories=["Cs"]
            ),
            min_size=1,
            max_size=12,
        )
        for first, last in ALPHABETS
    ]
    runs = [*alphabets, strategies.sampled_from(SCRAPS), strategies.text(max_size=8)]
    if special:
        token = strategies.sampled_from(special)
        runs += [token, token.map(lambda content: content[: max(1, len(content) - 1)])]

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
        database=None,
        deadline=None,
        derandomize=False,
    )
    @hypothesis.given(strategies.lists(strategies.one_of(runs), max_size=8).map("".join))
    def draw(text: str) -> None:
        drawn.append(text)

    draw()
    return drawn


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
