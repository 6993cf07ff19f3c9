"""Where the originals' offsets differ from protok's, and by which rule.

Each rule recognises one class of docs/differences.md from the text, the artifact's components
and the two spans; none knows an input by name. What a rule needs to know about normalization it
takes from normalized texts, which have goldens of their own, and not from spans.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import protok

Span = tuple[int, int]
Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
BLANKS = "Ġ "  # in the byte alphabet, and in added tokens
LETTER = "q"  # composes with nothing, and no normalizer changes it
BYTE = re.compile("<0x[0-9A-F]{2}>")


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
        normalizers = list(parts(described.get("normalizer")))
        kinds = {component["type"] for component in normalizers}
        self.forms = [form for form in FORMS if form in kinds]
        self.charsmap = "Precompiled" in kinds
        if self.charsmap:  # the maps of all artifacts are of this form, and a little more
            self.forms.append("NFKC")
        self.replaces = "Replace" in kinds
        self.strips = "StripAccents" in kinds or any(
            (
                component["type"] == "BertNormalizer"
                and (component["strip_accents"] is None and component["lowercase"])
            )
            or component.get("strip_accents") is True
            for component in normalizers
        )
        self.byte_level = any(
            component["type"] == "ByteLevel" for component in parts(described["pre_tokenizer"])
        )
        self.unigram = described["model"]["type"] == "Unigram"
        self.drops = described["model"]["type"] == "BPE"

    def normalize(self, text: str) -> str:
        """Normalize a text as if it stood inside another."""
        return inside(self.tok, text)


@lru_cache(maxsize=4096)
def inside(tok: protok.Tokenizer, text: str) -> str:
    """Normalize a text between two letters."""
    encoding = tok.encode(f"{LETTER}{text}{LETTER}", add_special_tokens=False, special="parse")
    whole = encoding.normalized
    return whole[whole.index(LETTER) + 1 : -1]


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
    nowhere: list[Span | None] = [None] * len(ours)
    counted = without_gaps(artifact, encoding, text) if artifact.drops else nowhere
    tokens = encoding.tokens
    return [
        class_of(Case(artifact, text, tokens, ours, place), other, counted[place])
        for place, other in enumerate(theirs)
    ]


@dataclass(frozen=True)
class Case:
    """A token, where it stands, and those around it."""

    artifact: Artifact
    text: str
    tokens: list[str]
    ours: list[Span]
    place: int


def class_of(case: Case, other: Span, counted: Span | None) -> str | None:
    """Name the class of one token by the first rule that holds."""
    artifact, text, ours, place = case.artifact, case.text, case.ours, case.place
    mine, token = ours[place], case.tokens[place]
    first = place == 0 or mine[0] == 0
    after = ours[place + 1] if place + 1 < len(ours) else None
    normalized = artifact.replaces or artifact.charsmap
    bytes_of_unigram = artifact.unigram and BYTE.fullmatch(token) is not None
    without = () if counted is None else (counted, *trimmed(artifact, token, counted, first=first))
    rules: dict[str, Callable[[], bool]] = {
        "": lambda: mine == other,
        "trimmed": lambda: other in trimmed(artifact, token, mine, first=first),
        "inserted": lambda: inserted(mine, other, after),
        "composed": lambda: composed(artifact.forms, text, mine, other),
        "stripped": lambda: artifact.strips and stripped(artifact, text, mine, other),
        "replaced": lambda: normalized and rewritten(artifact, text, mine, other),
        "shifted": lambda: artifact.charsmap and shifted(artifact, text, mine, other, after),
        "fallback": lambda: bytes_of_unigram and other == run(case.tokens, ours, place),
        "dropped": lambda: other in without,
    }
    return next((name for name, holds in rules.items() if holds()), None)


def trimmed(artifact: Artifact, token: str, span: Span | None, *, first: bool) -> list[Span]:
    """Return the span as `trim_offsets` leaves it: without the blanks that the token spells."""
    if span is None or not artifact.trims:
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


def inserted(mine: Span, other: Span, after: Span | None) -> bool:
    """Tell whether a token that nothing in the text produced has the next character's span."""
    if mine[0] != mine[1] or other[1] - other[0] != 1:
        return False
    return after is None or after[0] <= other[0] < other[1] <= after[1]


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


def stripped(artifact: Artifact, text: str, mine: Span, other: Span) -> bool:
    """Tell whether the reference's span leaves out marks of its last letter that were deleted."""
    left_out = unicodedata.normalize("NFKD", text[other[1] : mine[1]])
    starts = ((mine[0], mine[1]), (other[0], mine[1]))
    return (
        (mine[0] == other[0] or rewritten(artifact, text, *starts))
        and 0 < other[1] < mine[1]
        and all(unicodedata.category(char).startswith("M") for char in left_out)
    )


def rewritten(artifact: Artifact, text: str, mine: Span, other: Span) -> bool:
    """Tell whether the reference's span cuts a stretch that was replaced as a whole.

    As in `composed`, but by what the artifact's own normalizer makes of the two sides. protok's
    span must hold the other.
    """

    def whole(at: int) -> bool:
        apart = artifact.normalize(text[:at]) + artifact.normalize(text[at:])
        return apart == artifact.normalize(text)

    edges = [(a, b) for a, b in zip(mine, other, strict=True) if a != b]
    wider = mine[0] <= other[0] and other[1] <= mine[1]
    return wider and all(whole(a) and not whole(b) for a, b in edges)


def shifted(artifact: Artifact, text: str, mine: Span, other: Span, after: Span | None) -> bool:
    """Tell whether the reference lost count by the characters deleted at the text's start.

    What is deleted there by a charsmap it does not count: all that follows is too far left.
    """
    count = next((at for at, char in enumerate(text) if artifact.normalize(char)), 0)
    if mine[0] == mine[1] and after is not None:  # an inserted mark has the next character's span
        mine = (after[0], after[0] + 1)
    return count > 0 and other == (mine[0] - count, mine[1] - count)


def run(tokens: list[str], spans: list[Span], place: int) -> Span:
    """Return the span of all the byte tokens around a place."""
    low = high = place
    while low > 0 and BYTE.fullmatch(tokens[low - 1]):
        low -= 1
    while high + 1 < len(tokens) and BYTE.fullmatch(tokens[high + 1]):
        high += 1
    return spans[low][0], spans[high][1]


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
    if not artifact.byte_level and BYTE.fullmatch(token):
        return 1
    return len(token.encode())


def to_codepoints(encoding: protok.Encoding, span: Span) -> Span:
    """Convert bytes of the normalized text to code points of the original, outwards."""
    return encoding.convert(
        span, from_=("byte", "normalized"), to=("codepoint", "original"), partial="expand"
    )


# -- SentencePiece --------------------------------------------------------------------------------


def sentencepiece_classes(tok: protok.Tokenizer, text: str, theirs: list[Span]) -> list[str | None]:
    """Name the class of each token as `classes` does, against SentencePiece's own offsets."""
    encoding = tok.encode(text, add_special_tokens=False, special="text")
    ours = [(int(start), int(end)) for start, end in encoding.offsets]
    tokens = encoding.tokens
    named: list[str | None] = []
    for mine, other, token in zip(ours, theirs, tokens, strict=True):
        if mine == other:
            named.append("")
        elif BYTE.fullmatch(token) and other == (mine[0], mine[0]):
            named.append("fallback")
        elif expanded(tok, text, mine, other):
            named.append("expanded")
        elif deleted(tok, text, mine, other):
            named.append("deleted")
        else:
            named.append(None)
    return named


def expanded(tok: protok.Tokenizer, text: str, mine: Span, other: Span) -> bool:
    """Tell whether only the last of the characters that one became has its place."""
    return (
        mine[0] == other[0]
        and mine[1] - other[1] == 1
        and len(inside(tok, text[other[1] : mine[1]])) > 1
    )


def deleted(tok: protok.Tokenizer, text: str, mine: Span, other: Span) -> bool:
    """Tell whether the reference's span also has what the normalizer deleted next to a token.

    White space after a blank is deleted, and so is that at the text's edges: without it, the
    normalized text is the same.
    """
    if not other[0] <= mine[0] <= mine[1] <= other[1]:
        return False
    without = text[: other[0]] + text[mine[0] : mine[1]] + text[other[1] :]
    return normalized(tok, without) == normalized(tok, text)


def normalized(tok: protok.Tokenizer, text: str) -> str:
    """Return what the normalizer makes of a whole text."""
    return tok.encode(text, add_special_tokens=False, special="text").normalized
