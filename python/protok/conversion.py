"""Convert an artifact to another format, and check the result before it counts.

What is written is read again from the disk and compared with the original over a set of probes:
texts of many kinds, the tokenizer's own added tokens, and a sample of its vocabulary.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from protok import saving
from protok.errors import ProtokError, VerificationError
from protok.probes import TEXTS
from protok.tokenizer import Tokenizer, load

__all__ = ["Conversion", "convert"]

SAMPLE = 1024  # of the vocabulary
ADDED = 512  # of the added tokens
PAIRS = 32
SHOWN = 12  # tokens of a difference

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Conversion:
    """What was written, and what was compared before it was put in place."""

    source: str
    target: str
    format: str
    files: tuple[str, ...]
    """The names of the files, the tokenizer itself first."""
    texts: int
    """The number of texts whose ids and decoded text are the same."""
    tokens: int
    """The number of ids that those texts have together."""
    fingerprint: str
    """The fingerprint of what was written. It is the original's, unless the format says the same
    thing in other words."""


def convert(
    source: str | os.PathLike[str] | Tokenizer,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
) -> Conversion:
    """Convert an artifact to another format, exactly or not at all.

    The result is read again and compared with the original before it is put in place. If
    anything differs, or the format cannot say what the tokenizer does, nothing is left behind.

    Parameters
    ----------
    source
        Anything that :func:`protok.load` takes, or a tokenizer.
    target
        A folder, or the name of the tokenizer's file.
    format
        As in :meth:`Tokenizer.save`; by default the one that the name of ``target`` belongs to,
        ``"huggingface"`` for a folder.

    Raises
    ------
    ArtifactError
        If the format cannot express the tokenizer; ``location`` names the component.
    VerificationError
        If what was written does not do the same; ``value`` is the text.

    Examples
    --------
    >>> import protok, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = protok.convert("protok:demo", folder + "/copy")
    >>> done.format, done.files[0], done.texts > 500
    ('huggingface', 'tokenizer.json', True)
    """
    tok = source if isinstance(source, Tokenizer) else load(source)
    path = Path(target)
    chosen = format if format is not None else saving.format_of(path)
    placed = saving.place(path, tok.to_files(chosen), chosen)
    with saving.staged(placed) as written:
        copy = _reload(written, target)
        texts, tokens = compare(tok, copy, str(target))
    return Conversion(
        source=repr(tok) if isinstance(source, Tokenizer) else str(source),
        target=str(target),
        format=chosen,
        files=tuple(placed.files),
        texts=texts,
        tokens=tokens,
        fingerprint=copy.fingerprint,
    )


def _reload(written: Path, target: str | os.PathLike[str]) -> Tokenizer:
    try:
        return load(written)
    except ProtokError as error:
        raise VerificationError(
            location=str(target),
            what=f"What was written cannot be read again: {error}",
            hint="Nothing was put in place.",
        ) from error


def compare(tok: Tokenizer, copy: Tokenizer, target: str) -> tuple[int, int]:
    """Compare two tokenizers over the probes; return the number of texts and of tokens.

    Raises
    ------
    VerificationError
        For the first text that they read differently, or the first ids that they decode so.
    """
    texts = tokens = 0
    for text in probes(tok):
        texts += 1
        for template in (True, False):
            ids = _ids(tok, text, None, template=template)
            _check("gives the ids", text, ids, _ids(copy, text, None, template=template), target)
            if isinstance(ids, list):
                tokens += len(ids)
                _compare_decoding(tok, copy, ids, text, target)
    for first, second in zip(TEXTS[:PAIRS], TEXTS[PAIRS:], strict=False):
        ids = _ids(tok, first, second, template=True)
        other = _ids(copy, first, second, template=True)
        _check("gives, as a pair, the ids", first, ids, other, target)
    for id in _some(_vocabulary(tok), SAMPLE):
        _compare_decoding(tok, copy, [id], tok.vocab.token(id), target)
    return texts, tokens


def probes(tok: Tokenizer) -> Iterator[str]:
    """Yield the texts to compare: the common ones, and some of the tokenizer's own spellings."""
    yield from TEXTS
    for token in _some([token.content for token in tok.added_tokens], ADDED):
        yield token
        yield f"a {token} b{token}{token}"
    previous = ""
    for id in _some(_vocabulary(tok), SAMPLE):
        text = tok.decode([id])
        yield text
        yield f"{previous}{text} x"
        previous = text


def _vocabulary(tok: Tokenizer) -> list[int]:
    return sorted(set(tok.vocab.to_dict().values()))


def _some(items: Sequence[Item], count: int) -> Iterator[Item]:
    """Yield at most ``count`` items, evenly spaced, the first and the last among them."""
    if len(items) <= count:
        yield from items
        return
    for place in range(count):
        yield items[place * (len(items) - 1) // (count - 1)]


def _ids(tok: Tokenizer, text: str, pair: str | None, *, template: bool) -> list[int] | str:
    """Return the ids of a text, or why it has none."""
    try:
        encoding = tok.encode(text, pair, add_special_tokens=template, special="parse")
    except ProtokError as error:
        return type(error).__name__
    return encoding.tolist()


def _compare_decoding(
    tok: Tokenizer, copy: Tokenizer, ids: list[int], text: str, target: str
) -> None:
    for skip in (False, True):
        own = tok.decode(ids, skip_special_tokens=skip)
        other = copy.decode(ids, skip_special_tokens=skip)
        _check(f"has ids {_short(ids)}, which decode to", text, own, other, target)


def _check(verb: str, text: str, own: list[int] | str, other: list[int] | str, target: str) -> None:
    if own == other:
        return
    common = min(len(own), len(other))
    position = next((at for at in range(common) if own[at] != other[at]), common)
    raise VerificationError(
        location=target,
        what=f"The text {text!r} {verb} {_short(own, position)} in the original, "
        f"{_short(other, position)} in the copy.",
        hint="Nothing was put in place.",
        position=position,
        value=text,
    )


def _short(value: list[int] | str, around: int = 0) -> str:
    """Spell the part of a value that differs."""
    start = max(0, around - SHOWN // 2)
    part = value[start : start + SHOWN] if isinstance(value, list) else value[start : start + 60]
    before = "…" if start else ""
    after = "…" if start + len(part) < len(value) else ""
    return f"{before}{part!r}{after}"
