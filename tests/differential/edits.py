"""Edit texts at random: the encoding after an edit is that of the whole text.

    python tests/differential/edits.py                     100,000 edits over all artifacts
    python tests/differential/edits.py --edits 2000 --only qwen3 --seed 7

The texts are of every slice of the corpora; insertions, deletions, replacements and appends follow
one another, with control tokens spelled out among them. Limited counts are compared on the way.
Prints a table with the share of the text that was encoded again, and the first failure of each
artifact. Exits with 1 if anything fails, with 2 if there is nothing to read.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from protok import _core

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from differential import command
from differential.paths import ARTIFACTS, Paths
from differential.texts import SHARED, corpus, random_text

LONGEST = 2500  # characters of a text
ROUND = 20  # edits of one text


def change(text: str, added: list[str], source: random.Random) -> tuple[int, int, str]:
    """Draw a span and what comes in its place."""
    start = source.randrange(len(text) + 1)
    if source.random() < 0.2:
        start = len(text)
    end = min(len(text), start + source.choice([0, 0, 1, 1, 2, 5, 40, 600]))
    kind = source.random()
    if kind < 0.25:
        new = ""
    elif kind < 0.6:
        new = source.choice([" ", "a", "Z", "é", ".", "\n", " a", "a ", "  ", "🐈", "1", "\u0301"])
    elif kind < 0.8:
        at = source.randrange(len(text) + 1)
        new = text[at : at + source.choice([1, 5, 30, 700])]
    else:
        new = random_text(source, added)
    return start, end, new


def check(name: str, edits: int, seed: int) -> tuple[int, float, list[str]]:
    """Edit texts of one artifact so many times."""
    source = random.Random(f"{name} {seed}")  # the Mersenne Twister
    tok = Paths(SHARED / "artifacts" / ARTIFACTS[name]).tok
    texts = [text for _, text in corpus(small=True, source=source)]
    added = [token.content for token in tok.added_tokens][:200]
    done, encoded, whole, failures = 0, 0, 0, []
    while done < edits:
        text = source.choice(texts)[: source.randint(0, LONGEST)]
        special = source.choice(["text", "text", "parse"])
        template = source.random() < 0.5
        encoding = tok.encode(text, special=special, add_special_tokens=template)
        for _ in range(ROUND):
            start, end, new = change(text, added, source)
            changed = text[:start] + new + text[end:]
            expected = tok.encode(changed, special=special, add_special_tokens=template)
            edited, read = _core.edit(tok, encoding, (start, end), new, "codepoint")
            done += 1
            encoded += read
            whole += len(changed.encode())
            if edited != expected or edited.original != changed:
                failures.append(f"{text!r} [{start}:{end}] = {new!r}, special={special}")
            text, encoding = changed, expected if source.random() < 0.1 else edited
        limit = source.randint(0, 2 * len(encoding) + 2)
        counted = tok.count(text, limit=limit, special=special)
        exact = tok.count(text, special=special)
        if counted != min(exact, limit + 1):
            failures.append(f"count({text!r}, limit={limit}) is {counted} of {exact}")
    return done, encoded / max(whole, 1), failures


def checked(name: str, count: int, seed: int) -> tuple[int, str, list[str]]:
    """Check an artifact, and give the share that was encoded again as it is shown."""
    done, share, failures = check(name, count, seed)
    return done, f"{share:.1%}", failures


if __name__ == "__main__":
    raise SystemExit(command.run(__doc__, "edits", "encoded", checked))
