"""Rendering and encoding 20 turns and a last question, beside transformers' apply_chat_template.

Both run in one process, in turns, on the same template and messages; ids are compared first. The
figure is the ratio of the medians: what provenance costs, with all that it includes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import protok

ARTIFACTS = ("qwen3", "llama3.1", "gemma3", "deepseek-v3", "gpt-oss")
QUESTION = "Could you explain how {} works, with an example in Python and what it costs? "
ANSWER = (
    "Certainly. {} works in three steps: first the input is read, then it is cut into pieces, and "
    "then each piece is looked up.\n\n"
    "```python\nfor piece in pieces:\n    print(table[piece])\n```\n"
    "The cost is linear in the input, since every piece is met once. "
)
SUBJECTS = ("a tokenizer", "a trie", "beam search", "a hash table", "a prefix cache")


def conversation(turns: int) -> list[dict[str, str]]:
    """Make messages of user and assistant, by turns."""
    messages = []
    for turn in range(turns):
        subject = SUBJECTS[turn % len(SUBJECTS)]
        text = (ANSWER if turn % 2 else QUESTION).format(subject)
        messages.append({"role": "assistant" if turn % 2 else "user", "content": text})
    return [*messages[: turns - 1], {"role": "user", "content": "Thanks! And in Rust?"}]


def medians(first: Callable[[], object], second: Callable[[], object], rounds: int) -> list[float]:
    """Time two functions in turns."""
    taken: list[list[float]] = [[], []]
    for _ in range(rounds):
        for place, function in enumerate((first, second)):
            start = time.perf_counter()
            function()
            taken[place].append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken]


def runs(
    tok: protok.Tokenizer, theirs: Any, messages: list[dict[str, str]]
) -> tuple[Callable[[], list[int]], Callable[[], list[int]]]:
    """Return what is timed."""

    def ours() -> list[int]:
        return tok.chat(messages).tolist()

    def other() -> list[int]:
        ids = theirs.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        return list(ids)

    return ours, other


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--turns", type=int, default=21)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    from transformers import AutoTokenizer

    warnings.simplefilter("ignore", protok.ArtifactWarning)
    worst = 0.0
    print(f"{'artifact':12} {'tokens':>6} {'protok':>9} {'transformers':>12} {'ratio':>6}")
    for name in ARTIFACTS:
        folder = options.shared / "artifacts" / name
        tok = protok.load(folder)
        theirs = AutoTokenizer.from_pretrained(folder)
        run, run_theirs = runs(tok, theirs, conversation(options.turns))
        if run() != run_theirs():
            sys.exit(f"{name}: the ids differ")
        ours, other = medians(run, run_theirs, options.rounds)
        worst = max(worst, ours / other)
        print(
            f"{name:12} {len(run()):6} {ours * 1e3:7.2f}ms {other * 1e3:10.2f}ms "
            f"{ours / other:6.2f}"
        )
    print(f"worst ratio {worst:.2f} (at most 2)")
    if worst > 2:
        sys.exit(1)


if __name__ == "__main__":
    main()
