"""Plot the time of every model and every stage against the length of hostile texts.

    python benchmarks/worst_case.py                        everything, 1 KB to 4 MB
    python benchmarks/worst_case.py --only unigram nfkc     what has these words in its name
    python benchmarks/worst_case.py --largest 1048576       shorter texts

Each tokenizer is small and made here, of one model without anything that would cut the text, or
of one normalizer or pre-tokenizer before a model that looks words up. Each text is hostile to
some stage. What counts is how time grows: the exponent e of time ~ length^e, from the slope
between lengths. Times are CPU seconds of one thread, the least of three runs; each text is new
to its tokenizer. Writes `worst_case.svg` and `worst_case.md`, and fails if anything grows faster
than `--most` between 64 KB and the largest text.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import math
import random
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from matplotlib import colormaps, rcParams
from matplotlib.figure import Figure

import protok

HERE = Path(__file__).resolve().parent
STEP = 4
FIRST = 1 << 10
SHORT, LONG = 0.002, 0.5  # seconds: measured more often, measured once
FROM = 1 << 16  # growth below this is all about what a call costs
MARK = "\u2581"
Json = dict[str, Any]
# Seconds by length in bytes.
Curve = dict[int, float]

# -- texts --------------------------------------------------------------------------------------


def drawn(alphabet: str) -> Callable[[int], str]:
    def make(length: int) -> str:
        width = len(alphabet.encode()) / len(alphabet)
        return "".join(random.Random(length).choices(alphabet, k=int(length / width)))

    return make


def repeated(text: str) -> Callable[[int], str]:
    return lambda length: text * (length // len(text.encode()))


def encoded(length: int) -> str:
    return base64.b64encode(random.Random(length).randbytes(length * 3 // 4)).decode()


def noise(length: int) -> str:
    return random.Random(length).randbytes(length * 2 // 3).decode("latin-1")


TEXTS: dict[str, Callable[[int], str]] = {
    "one letter": repeated("a"),
    "letters": drawn("abcdefghijklmnopqrstuvwxyz"),
    "two letters": drawn("ab"),
    "blanks": repeated(" "),
    "blanks and line ends": drawn(" \n\t"),
    "combining marks": lambda length: "e" + "\u0301" * (length // 2),
    "marks out of order": lambda length: "a" + "\u0323\u0307\u0301" * (length // 6),
    "joined emoji": repeated("\U0001f469\u200d\U0001f469\u200d"),
    "base64": encoded,
    "bytes as Latin-1": noise,
    "punctuation": drawn("!#%&*=-_.'"),
    "digits": drawn("0123456789"),
    "ideographs": drawn("东京大学的不是我有"),
    "Hangul letters": drawn("\u1100\u1161\u11a8"),
    "word marks": drawn(MARK + "a"),
    "capitals and ligatures": drawn("AÉ\ufb01\u0130\u00bd\ufdfa"),
}

# -- tokenizers ---------------------------------------------------------------------------------


def words(**stages: Any) -> Json:
    """Make a model that looks whole pieces up, behind these stages."""
    return {
        "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1}, "unk_token": "<unk>"},
        **stages,
    }


def doubling(letter: str, most: int) -> list[str]:
    return [letter * (1 << power) for power in range(most)]


def byte_alphabet() -> list[str]:
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) for byte in plain] + [chr(0x100 + place) for place in range(len(rest))]


def bpe(pieces: list[str], singles: list[str], **options: object) -> Json:
    """Make merges that double a letter, a blank, a mark; and pairs of letters."""
    vocab = list(dict.fromkeys(singles))
    merges = []
    for piece in pieces:
        for half, whole in zip(doubling(piece, 9), doubling(piece, 10)[1:], strict=True):
            merges.append([half, half])
            vocab.append(whole)
    for left in "abcde":
        for right in "fghij":
            merges.append([left, right])
            vocab.append(left + right)
    return {
        "type": "BPE",
        "vocab": {token: place for place, token in enumerate(vocab)},
        "merges": merges,
        **options,
    }


LETTERS = list("abcdefghijklmnopqrstuvwxyz0123456789 " + MARK + "\u0301")


def byte_level(**fields: bool) -> Json:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, **fields}


def unigram_pieces() -> list[tuple[str, float]]:
    runs = [
        (letter * count, -2.0 - count / 8) for letter in ("a", MARK, "b") for count in range(1, 17)
    ]
    single = [(letter, -3.0) for letter in LETTERS if letter not in ("a", "b", MARK, " ")]
    pairs = [(left + right, -4.5) for left in "abc" for right in "xyz"]
    return [("<unk>", 0.0), *runs, *single, *pairs]


def word_pieces(most: int) -> Json:
    runs = ["a" * count for count in range(1, 17)]
    tokens = ["[UNK]", *LETTERS, *runs, *(f"##{token}" for token in [*LETTERS, *runs])]
    return {
        "type": "WordPiece",
        "vocab": {token: place for place, token in enumerate(dict.fromkeys(tokens))},
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": most,
    }


def model(kind: int) -> bytes:
    """Make a SentencePiece model: 1 is Unigram, 2 is BPE, 3 is words, 4 is characters."""

    def field(number: int, payload: bytes) -> bytes:
        length, size = b"", len(payload)
        while size > 0x7F:
            length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + payload

    pieces = b""
    for place, (piece, score) in enumerate(unigram_pieces()):
        typed = b"\x18\x02" if place == 0 else b""
        pieces += field(1, field(1, piece.encode()) + b"\x15" + struct.pack("<f", score) + typed)
    return pieces + field(2, bytes([0x18, kind])) + field(3, b"\x18\x01\x20\x00")


def greedy() -> bytes:
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [b"a" * count for count in range(2, 65)] + [b" " * count for count in range(2, 65)]
    lines = [f"{place} {token!r} {len(token)}" for place, token in enumerate(tokens, 1)]
    return "\n".join(lines).encode()


def ranks() -> bytes:
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [
        letter.encode() * (1 << power) for letter in ("a", " ", "é") for power in range(1, 9)
    ]
    lines = [
        f"{base64.b64encode(token).decode()} {rank}"
        for rank, token in enumerate(dict.fromkeys(tokens))
    ]
    return "\n".join(lines).encode()


def charsmap() -> str:
    """Make a character map in which `A` becomes `a` and U+0301 after `e` becomes `é`."""
    units = [0] * 1536
    units[0] = 256 << 10

    def child(base: int, byte: int, target: int, *, leaf: bool = False) -> None:
        place = base ^ byte
        units[place] = (place ^ target) << 10 | leaf << 8 | byte

    child(256, 0x41, 512, leaf=True)
    units[512] = 1 << 31
    child(256, 0x65, 768)
    child(768, 0xCC, 1024)
    child(1024, 0x81, 1280, leaf=True)
    units[1280] = 1 << 31 | 2
    blob = struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + "a\0é\0".encode()
    return base64.b64encode(blob).decode()


MODELS: dict[str, Json | bytes] = {
    "BPE of bytes, GPT-2's cut": {
        "pre_tokenizer": byte_level(use_regex=True),
        "model": bpe(["a", "\u0120", "\u00cc"], byte_alphabet()),
    },
    "BPE of bytes, uncut": {
        "pre_tokenizer": byte_level(use_regex=False),
        "model": bpe(["a", "\u0120", "\u00cc"], byte_alphabet()),
    },
    "BPE of characters, uncut": {
        "model": bpe(["a", " ", "\u0301"], LETTERS, unk_token="a", fuse_unk=True)
    },
    "BPE by rank": ranks(),
    "SentencePiece BPE": model(2),
    "SentencePiece Unigram": model(1),
    "SentencePiece words": model(3),
    "SentencePiece characters": model(4),
    "Unigram": {
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [[*p] for p in unigram_pieces()]}
    },
    "WordPiece, any length": {"model": word_pieces(1 << 40)},
    "WordPiece, 100 characters": {"model": word_pieces(100)},
    "WordLevel": words(),
    "greedy": greedy(),
}


def normalizer(kind: str, **fields: object) -> Json:
    return words(normalizer={"type": kind, **fields})


def cut(kind: str, **fields: object) -> Json:
    return words(pre_tokenizer={"type": kind, **fields})


def split(pattern: Json, behavior: str = "Isolated", *, invert: bool = False) -> Json:
    return cut("Split", pattern=pattern, behavior=behavior, invert=invert)


GPT4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

STAGES: dict[str, Json] = {
    **{f"normalizer {kind}": normalizer(kind) for kind in ("NFC", "NFD", "NFKC", "NFKD")},
    **{
        f"normalizer {kind}": normalizer(kind)
        for kind in ("Lowercase", "StripAccents", "Nmt", "ByteLevel")
    },
    "normalizer Strip": normalizer("Strip", strip_left=True, strip_right=True),
    "normalizer Prepend": normalizer("Prepend", prepend=MARK),
    "normalizer Replace": normalizer("Replace", pattern={"Regex": r"\s+|a+b"}, content="x"),
    "normalizer BertNormalizer": normalizer(
        "BertNormalizer",
        clean_text=True,
        handle_chinese_chars=True,
        strip_accents=True,
        lowercase=True,
    ),
    "normalizer Precompiled": normalizer("Precompiled", precompiled_charsmap=charsmap()),
    "cut ByteLevel": words(pre_tokenizer=byte_level(use_regex=True)),
    "cut GPT-4o's pattern": split({"Regex": GPT4O}),
    "cut Split, read ahead": split({"Regex": "a*b|a"}),
    "cut Split, look-around": split({"Regex": r"(?<=a)b|\w(?=\d)|(?<!\s)\s"}),
    **{
        f"cut Split, {behavior}": split({"String": "a"}, behavior)
        for behavior in ("Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
    },
    **{
        f"cut {kind}": cut(kind)
        for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")
    },
    **{
        f"cut Metaspace, {scheme}": cut(
            "Metaspace", replacement=MARK, prepend_scheme=scheme, split=True
        )
        for scheme in ("first", "always", "never")
    },
    "cut Punctuation": cut("Punctuation", behavior="Contiguous"),
    "cut Digits": cut("Digits", individual_digits=True),
    "cut CharDelimiterSplit": cut("CharDelimiterSplit", delimiter="a"),
    "cut FixedLength": cut("FixedLength", length=5),
    "cut Sequence": cut(
        "Sequence",
        pretokenizers=[
            {"type": "Whitespace"},
            {"type": "Digits", "individual_digits": True},
            byte_level(),
        ],
    ),
    "added tokens": words(
        added_tokens=[
            {
                "id": place,
                "content": "a" * count,
                "single_word": False,
                "lstrip": place % 2 == 0,
                "rstrip": place % 3 == 0,
                "normalized": place % 2 == 1,
                "special": False,
            }
            for place, count in enumerate([2, 3, 40], 2)
        ]
    ),
}


def load(source: Json | bytes, folder: Path) -> protok.Tokenizer:
    if isinstance(source, dict):
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(source), "utf-8")
        return protok.load(path)
    path = folder / ("tokenizer.model" if source.startswith(b"\n") else "vocab.txt")
    path.write_bytes(source)
    if source.startswith(b"AA=="):
        return protok.load(path, pattern=r"(?s:.)+", special_tokens={})
    return protok.load(path)


# -- measuring ----------------------------------------------------------------------------------


def ids(tok: protok.Tokenizer, text: str) -> None:
    tok.count(text)


def offsets(tok: protok.Tokenizer, text: str) -> None:
    _ = tok.encode(text, special="text", add_special_tokens=False).offsets


def seconds(
    run: Callable[[protok.Tokenizer, str], None], tok: protok.Tokenizer, text: str
) -> float:
    """Time a call in CPU seconds: short ones many times, the least of three."""
    times: list[float] = []
    repeats = 1
    while len(times) < 3 and sum(times) * repeats < LONG:
        start = time.process_time()
        for _ in range(repeats):
            run(tok, text)
        taken = time.process_time() - start
        if taken < SHORT and not times:
            repeats *= 4
        else:
            times.append(taken / repeats)
    return max(min(times), 1e-7)


def exponent(curve: Curve, start: int, end: int) -> float:
    return math.log(curve[end] / curve[start]) / math.log(end / start)


def measured(arguments: argparse.Namespace) -> Iterator[tuple[str, str, str, Curve]]:
    """Yield the curve of each tokenizer on each text, for ids and for offsets."""
    lengths = []
    length = FIRST
    while length <= arguments.largest:
        lengths.append(length)
        length *= STEP
    made = {name: {length: make(length) for length in lengths} for name, make in TEXTS.items()}
    for name, source in {**MODELS, **STAGES}.items():
        if arguments.only and not any(word.lower() in name.lower() for word in arguments.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            tok = load(source, Path(folder))
        for text, texts in made.items():
            for what, run in (("ids", ids), ("offsets", offsets)):
                curve = {length: seconds(run, tok, texts[length]) for length in lengths}
                yield name, text, what, curve
        print(name, flush=True)


# -- reporting ----------------------------------------------------------------------------------


def worst(curves: dict[tuple[str, str, str], Curve], name: str, what: str) -> tuple[str, Curve]:
    """Find the text that a tokenizer takes longest for, at the largest length."""
    own = {
        text: curve for (own, text, kind), curve in curves.items() if (own, kind) == (name, what)
    }
    text = max(own, key=lambda text: own[text][max(own[text])])
    return text, own[text]


def table(curves: dict[tuple[str, str, str], Curve]) -> str:
    names = list(dict.fromkeys(name for name, *_ in curves))
    lengths = sorted(next(iter(curves.values())))
    start, end = min(FROM, lengths[-2]), lengths[-1]
    pairs = list(itertools.pairwise(lengths))
    spans = [f"{size(a)} to {size(b)}" for a, b in pairs if a >= start]
    lines = [
        "# How time grows with the length of hostile texts",
        "",
        "Written by `python benchmarks/worst_case.py`: the exponent e of time ~ length^e. 1 is",
        f"linear. For each tokenizer the text that takes it longest at {size(end)}, and the",
        f"steepest exponent between {size(start)} and {size(end)} over all {len(TEXTS)} texts.",
        "",
        f"| tokenizer | slowest text | MB/s | {' | '.join(spans)} | steepest, ids | of offsets |",
        "| --- | --- | --- |" + " --- |" * (len(spans) + 2),
    ]
    for name in names:
        text, curve = worst(curves, name, "ids")
        steps = " | ".join(f"{exponent(curve, a, b):.2f}" for a, b in pairs if a >= start)
        cells = []
        for what in ("ids", "offsets"):
            own = {t: c for (n, t, kind), c in curves.items() if (n, kind) == (name, what)}
            steep = max(own, key=lambda t: exponent(own[t], start, end))
            cells.append(f"{exponent(own[steep], start, end):.2f} ({steep})")
        speed = end / curve[end] / 1e6
        lines.append(f"| {name} | {text} | {speed:.1f} | {steps} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def size(length: int) -> str:
    return f"{length >> 20} MB" if length >= 1 << 20 else f"{length >> 10} KB"


def plot(curves: dict[tuple[str, str, str], Curve], path: Path) -> None:
    rcParams.update({"svg.hashsalt": "protok", "svg.fonttype": "none", "font.size": 9})
    groups = {
        "Models": list(MODELS),
        "Normalizers": [name for name in STAGES if name.startswith("normalizer")],
        "Pre-tokenizers, added tokens": [n for n in STAGES if not n.startswith("normalizer")],
    }
    figure = Figure(figsize=(16, 11))
    rows = figure.subplots(2, 3, sharex=True, sharey=True)
    for row, what in zip(rows, ("ids", "offsets"), strict=True):
        for axes, (title, names) in zip(row, groups.items(), strict=True):
            shown = [name for name in names if any(name == own for own, *_ in curves)]
            colours = colormaps["turbo"]
            for place, name in enumerate(shown):
                text, curve = worst(curves, name, what)
                label = f"{name.removeprefix('normalizer ').removeprefix('cut ')} ({text})"
                style = ("-", "--", ":")[place % 3]
                colour = colours(place / max(len(shown) - 1, 1))
                axes.plot(
                    list(curve), list(curve.values()), style, color=colour, marker=".", label=label
                )
            lengths = sorted(next(iter(curves.values())))
            ends = [lengths[0], lengths[-1]]
            for power, name in ((1, "linear"), (2, "quadratic")):
                times = [4e-9 * ends[0] * (end / ends[0]) ** power for end in ends]
                axes.plot(ends, times, color="0.6", linewidth=0.8)
                axes.annotate(name, (ends[1], times[1]), color="0.4", ha="right", fontsize=8)
            axes.set(xscale="log", yscale="log", title=f"{title}: {what}", ylim=(1e-6, 3e1))
            axes.set_xticks(lengths, [size(length) for length in lengths])
            axes.minorticks_off()
            axes.grid(color="0.9")
            axes.legend(fontsize=6, loc="upper left", frameon=False)
    for axes in rows[1]:
        axes.set_xlabel("length of the text")
    for axes in rows[:, 0]:
        axes.set_ylabel("CPU seconds")
    figure.suptitle("Time against length, each on the text that takes it longest")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=[], help="words in the names to measure")
    parser.add_argument("--largest", type=int, default=1 << 22, help="bytes of the longest text")
    parser.add_argument("--most", type=float, default=1.2, help="the exponent that is too much")
    parser.add_argument("--folder", type=Path, default=HERE, help="where to write")
    arguments = parser.parse_args()
    curves = {(name, text, what): curve for name, text, what, curve in measured(arguments)}
    report = table(curves)
    (arguments.folder / "worst_case.md").write_text(report, "utf-8")
    plot(curves, arguments.folder / "worst_case.svg")
    print(report)
    start = min(FROM, arguments.largest // STEP)
    failed = 0
    for (name, text, what), curve in curves.items():
        grows = exponent(curve, start, max(curve))
        if grows > arguments.most:
            failed = 1
            print(f"{name}, {what} of {text}: time grows as length^{grows:.2f}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
