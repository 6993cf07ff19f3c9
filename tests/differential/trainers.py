"""Compare merges and vocabularies with those of Hugging Face's trainers, on the whole corpus.

    python tests/differential/trainers.py                         everything; takes hours
    python tests/differential/trainers.py --files 20 --size 1000
    python tests/differential/trainers.py --only "bytes" --only "words by Metaspace"

Each file of the corpus is a corpus by itself, a line a text. Both trainers get the same
pre-tokenizer; vocabulary and merges must be identical. A size that a smaller one has not filled is
not asked for again. Prints a table and the files that differ; exits with 1 if any does.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from differential.texts import SHARED, corpus

import protok
from protok import _core
from protok.training.artifact import document

Json = dict[str, Any]
Verdict = Literal["same", "too small", "differs"]
SIZES = (1_000, 8_000, 32_000)


def _byte_level(*, prefix: bool = False, regex: bool = True) -> Json:
    return {
        "type": "ByteLevel",
        "add_prefix_space": prefix,
        "trim_offsets": True,
        "use_regex": regex,
    }


def _split(pattern: str, behavior: str = "Isolated") -> Json:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}


def _sequence(*parts: Json) -> Json:
    return {"type": "Sequence", "pretokenizers": list(parts)}


@dataclass(frozen=True)
class Case:
    """What is trained, on pieces of which kind."""

    kind: Literal["bytes", "characters", "words"]
    cut: Json


METASPACE: Json = {
    "type": "Metaspace",
    "replacement": "\u2581",
    "prepend_scheme": "always",
    "split": True,
}
MARKS = _sequence(
    {"type": "Punctuation", "behavior": "Isolated"}, {"type": "Digits", "individual_digits": True}
)
CASES: dict[str, Case] = {
    "bytes": Case("bytes", _byte_level()),
    "bytes with a blank in front": Case("bytes", _byte_level(prefix=True)),
    "bytes by a pattern": Case(
        "bytes",
        _sequence(_split(r"\p{N}{1,3}| ?\p{L}+|[^\s\p{L}]+|\s+"), _byte_level(regex=False)),
    ),
    "Whitespace": Case("characters", {"type": "Whitespace"}),
    "WhitespaceSplit": Case("characters", {"type": "WhitespaceSplit"}),
    "BertPreTokenizer": Case("characters", {"type": "BertPreTokenizer"}),
    "Punctuation and Digits": Case("characters", MARKS),
    "Metaspace": Case("characters", METASPACE),
    "Split": Case("characters", _split(r"\s+|\d", "MergedWithNext")),
    "words by Whitespace": Case("words", {"type": "Whitespace"}),
    "words by Metaspace": Case("words", METASPACE),
}


def theirs(case: Case, lines: Sequence[str], size: int) -> tuple[Json, list[list[str]]]:
    """Train with Hugging Face's library; return vocabulary and merges."""
    from tokenizers import Tokenizer, trainers

    unknown = {"type": "WordLevel", "vocab": {"<s>": 0}, "unk_token": "<s>"}
    model = unknown if case.kind == "words" else None
    reference = Tokenizer.from_str(json.dumps(document(model, pre_tokenizer=case.cut)))
    common: Json = {"vocab_size": size, "special_tokens": ["<s>"], "show_progress": False}
    if case.kind == "words":
        trainer: Any = trainers.WordLevelTrainer(**common)
    else:
        alphabet = list(_core.BYTE_ALPHABET) if case.kind == "bytes" else []
        trainer = trainers.BpeTrainer(initial_alphabet=alphabet, **common)
    reference.train_from_iterator(lines, trainer)
    learned = json.loads(reference.to_str())["model"]
    return learned["vocab"], learned.get("merges", [])


def ours(case: Case, lines: Sequence[str], size: int) -> tuple[Json, list[list[str]]]:
    """Train the same with protok."""
    options: Json = {"symbols": case.kind} if case.kind != "words" else {"model": "word"}
    if case.kind == "words":
        options["unk_token"] = "<s>"
    recipe = protok.Recipe(
        vocab_size=size,
        pre_tokenizer=case.cut,
        decoder=None,
        special_tokens=("<s>",),
        fewer="accept",
        **options,
    )
    tok = protok.train(recipe, list(lines))
    learned = json.loads(tok.to_files()["tokenizer.json"])["model"]
    return learned["vocab"], learned.get("merges", [])


def compare(case: Case, lines: Sequence[str], size: int) -> tuple[Verdict, int]:
    """Train on both sides; return how it went, and the size of the reference's vocabulary.

    An alphabet that is larger than the vocabulary asked for is refused here, and kept there.
    """
    vocab, merges = theirs(case, lines, size)
    try:
        found = ours(case, lines, size)
    except protok.InputError as error:
        small = error.location == "vocab_size" and len(vocab) > size and not merges
        return ("too small" if small else "differs"), len(vocab)
    return ("same" if found == (vocab, merges) else "differs"), len(vocab)


def main() -> int:
    """Compare on every file that is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--files", type=int, help="at most so many files of the corpus")
    parser.add_argument("--size", type=int, action="append", help="repeatable")
    parser.add_argument("--only", action="append", choices=[*CASES], help="repeatable")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not (SHARED / "corpus").is_dir():
        print("There is no ../shared to read a corpus from.", file=sys.stderr)
        return 2
    sizes = sorted(options.size or SIZES)
    texts = corpus(small=False, source=random.Random(options.seed), files=options.files)
    files = [(name, text.splitlines(keepends=True)) for name, text in texts]
    differing: list[str] = []
    print(f"{'pre-tokenizer':28} {'size':>6} {'same':>6} {'small':>6} {'differ':>6} {'seconds':>8}")
    for name in options.only or CASES:
        left = files
        for size in sizes:
            start, verdicts, filled = time.monotonic(), Counter[Verdict](), []
            for file, lines in left:
                verdict, reached = compare(CASES[name], lines, size)
                verdicts[verdict] += 1
                if verdict == "differs":
                    differing.append(f"{name}, {size}: {file}")
                if reached >= size:
                    filled.append((file, lines))
            left = filled
            print(
                f"{name:28} {size:6,} {verdicts['same']:6,} {verdicts['too small']:6,} "
                f"{verdicts['differs']:6,} {time.monotonic() - start:8.1f}",
                flush=True,
            )
    print("\n".join(differing) or "no difference")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
