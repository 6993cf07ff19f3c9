"""Where the originals' offsets differ from protok's, and by which rule.

Each rule recognises one class of docs/differences.md from the text, the artifact's components
and the two spans; none knows an input by name.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import protok

Span = tuple[int, int]
Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
BLANKS = "Ġ "  # in the byte alphabet, and in added tokens


@dataclass
class Artifact:
    """A tokenizer, and what its components say about offsets."""

    tok: protok.Tokenizer
    trims: bool = False
    prefixes: bool = False
    forms: list[Form] = field(default_factory=list)

    def __post_init__(self) -> None:
        described = json.loads(self.tok.describe())
        for component in parts(described.get("post_processor")):
            self.trims |= bool(component.get("trim_offsets"))
            self.prefixes |= bool(component.get("trim_offsets")) and bool(
                component.get("add_prefix_space")
            )
        kinds = {component["type"] for component in parts(described.get("normalizer"))}
        self.forms = [form for form in FORMS if form in kinds]
        self.byte_level = any(
            component["type"] == "ByteLevel" for component in parts(described["pre_tokenizer"])
        )


def parts(component: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Yield a component, and all inside it."""
    if component is None:
        return
    yield component
    for name in ("normalizers", "pretokenizers", "processors"):
        for inner in component.get(name, ()):
            yield from parts(inner)


def classes(artifact: Artifact, text: str, theirs: list[Span], **options: Any) -> list[str | None]:
    """Name the class of each token: "" where the spans are equal, None where no rule knows."""
    tok = artifact.tok
    encoding = tok.encode(text, add_special_tokens=False, special="parse", **options)
    ours = [(int(start), int(end)) for start, end in encoding.offsets]
    assert len(ours) == len(theirs)
    if ours == theirs:
        return [""] * len(ours)
    joined = without_gaps(artifact, encoding, text)
    named: list[str | None] = []
    for place, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        token = encoding.tokens[place]
        first = place == 0 or mine[0] == 0
        if mine == other:
            named.append("")
        elif artifact.trims and other in trimmed(artifact, token, mine, first=first):
            named.append("trimmed")
        elif mine[0] == mine[1] and other == (mine[0], mine[0] + 1):
            named.append("inserted")
        elif composed(artifact.forms, text, mine, other):
            named.append("composed")
        elif joined[place] is not None and (
            other == joined[place]
            or (artifact.trims and other in trimmed(artifact, token, joined[place], first=first))
        ):
            named.append("dropped")
        else:
            named.append(None)
    return named


def trimmed(artifact: Artifact, token: str, span: Span | None, *, first: bool) -> list[Span]:
    """Return the span as `trim_offsets` leaves it: without the blanks that the token spells."""
    if span is None:
        return []
    start, end = span
    before = len(token) - len(token.lstrip(BLANKS))
    after = len(token) - len(token.rstrip(BLANKS))
    counts = [before, max(before - 1, 0)] if artifact.prefixes and first else [before]
    spans = []
    for count in counts:
        low = min(start + count, end)
        spans.append((low, max(end - after, low)))
    return spans


def composed(forms: list[Form], text: str, mine: Span, other: Span) -> bool:
    """Tell whether the reference's span cuts characters that were normalized as one.

    A text can be cut at a place if its two sides, normalized apart, are the normalized text.
    Where the spans differ, protok's edge must be such a place, and the reference's must not.
    """

    def whole(at: int) -> bool:
        return all(
            unicodedata.normalize(form, text[:at]) + unicodedata.normalize(form, text[at:])
            == unicodedata.normalize(form, text)
            for form in forms
        )

    edges = [(a, b) for a, b in zip(mine, other, strict=True) if a != b]
    return bool(forms) and all(whole(a) and not whole(b) for a, b in edges)


def without_gaps(artifact: Artifact, encoding: protok.Encoding, text: str) -> list[Span | None]:
    """Return the spans as the reference counts them where the model has dropped characters.

    It adds up the lengths of the tokens that are left, so a token after a dropped character
    stands too far to the left, and one after a late unknown token too far to the right. None
    where all of a piece is in its tokens.
    """
    trace = artifact.tok.trace(text, add_special_tokens=False, special="parse").to_dict()
    normalized = encoding.normalized.encode()
    places = [(int(start), int(end)) for start, end in encoding.spans("byte", "normalized")]
    spans: list[Span | None] = []
    for section in trace["sections"]:
        if section["kind"] == "added_token":
            spans.append(None)
            continue
        for piece in section["pieces"]:
            low, high = piece["span"]
            start, _ = encoding.convert(
                (low, high),
                from_=("byte", "original"),
                to=("byte", "normalized"),
                partial="expand",
            )
            # The byte of each byte of what the model reads.
            widths = (1 if 33 <= b <= 126 or not artifact.byte_level else 2 for b in normalized)
            read = [at for at, width in enumerate(widths) if at >= start for _ in range(width)]
            mine = places[len(spans) : len(spans) + len(piece["tokens"])]
            at = 0
            for token, place in zip(piece["tokens"], mine, strict=True):
                inside = sum(place[0] <= a < b <= place[1] for a, b in mine) - 1
                length = token_length(artifact, token["token"], place, inside)
                bytes_of = read[at : at + length]
                at += length
                span = (bytes_of[0], bytes_of[-1] + 1) if bytes_of else (len(normalized),) * 2
                spans.append(None if span == place else to_codepoints(encoding, span))
    return spans


def token_length(artifact: Artifact, token: str, place: Span, inside: int) -> int:
    """Return the bytes for which the reference counts a token."""
    if not artifact.byte_level and token == "<unk>":
        return place[1] - place[0] - inside  # the byte tokens that it has let pass
    if not artifact.byte_level and re.fullmatch("<0x[0-9A-F]{2}>", token):
        return 1
    return len(token.encode())


def to_codepoints(encoding: protok.Encoding, span: Span) -> Span:
    """Convert bytes of the normalized text to code points of the original, outwards."""
    return encoding.convert(
        span, from_=("byte", "normalized"), to=("codepoint", "original"), partial="expand"
    )
