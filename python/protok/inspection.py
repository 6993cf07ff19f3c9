"""What a tokenizer is like: its stages, its vocabulary by kind, its round trip, its oddities.

The engine looks at the vocabulary and proves what it says; this module holds the result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from protok.errors import InputError

if TYPE_CHECKING:
    from protok import _core

__all__ = ["Contract", "Inspection", "Loss"]

DType = Literal["f64", "f32", "bf16", "f16", "f8", "i8"]
BYTES: Mapping[str, int] = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "f8": 1, "i8": 1}


@dataclass(frozen=True, slots=True)
class Loss:
    """A text that does not come back, and the stage that is why.

    Parameters
    ----------
    stage
        The stage.
    cause
        What it does.
    text
        The text.
    decoded
        What came back, or None if the text was refused.
    """

    stage: str
    cause: str
    text: str
    decoded: str | None


@dataclass(frozen=True, slots=True)
class Contract:
    """What comes back when a text is encoded and decoded.

    Parameters
    ----------
    verdict
        ``"lossless"``: every text; ``"normalized"``: every text as the normalizer rewrites it;
        ``"lossy"``: some texts otherwise.
    normalizations
        What the normalizer does for good.
    losses
        What else happens: each stage and cause once, with a text that shows it.
    by_construction
        Whether the spec itself says that nothing else is lost. Otherwise it is what the probes
        found.
    any_bytes
        Whether ``encode_bytes`` takes any bytes.
    probes
        The number of texts that were tried.
    """

    verdict: Literal["lossless", "normalized", "lossy"]
    normalizations: tuple[str, ...]
    losses: tuple[Loss, ...]
    by_construction: bool
    any_bytes: bool
    probes: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a tokenizer is like. ``Tokenizer.inspect`` makes it, ``protok inspect`` shows it.

    Parameters
    ----------
    description
        The artifact and the stages, as `Tokenizer.describe` gives them.
    tokens, size
        The ids that name a token; one past the highest id.
    kinds
        The number of tokens of each kind: ``whitespace_bound``, ``word_start``, ``word_end``,
        ``word``, ``continuation``, ``character``, ``digits``, ``punctuation``, ``indentation``,
        ``whitespace``, ``byte``, ``fragment``, ``added``, ``control``, ``unused``. Every token has
        one.
    examples
        The text of a few tokens of each kind.
    longest
        The token that covers the most text, added tokens and control tokens aside: its id, the
        text, and the bytes of it.
    longest_indentation
        The most blanks in a row that are one token.
    contract
        What comes back from a round trip.
    unknown
        The token for what the vocabulary lacks, if there is one.
    roles
        The token of each role: ``bos``, ``eos``, ``pad`` and the like.
    control_tokens
        The control tokens by the reason why they are.
    oddities
        ``holes``: runs of ids without a token, first and last; ``duplicates``: spellings with
        several ids and ids with several spellings; then ids with their tokens: ``unreachable``:
        the model yields them for no piece; ``unseen``: the model would, but no text that was
        tried gets there; ``idle_bytes``: bytes that no text yields; ``never_matched``: added
        tokens that their own content does not find; ``markup``: shaped like markup, but not
        control tokens; ``control_pieces``: control tokens that are ordinary entries too.
    warnings
        What the files of the artifact say against each other.

    Examples
    --------
    >>> import protok
    >>> inspection = protok.load("protok:demo").inspect()
    >>> inspection.contract.verdict
    'lossless'
    >>> inspection.oddities["unreachable"]
    []
    >>> sum(inspection.kinds.values()) == inspection.tokens
    True
    """

    description: Mapping[str, Any]
    tokens: int
    size: int
    kinds: Mapping[str, int]
    examples: Mapping[str, list[str]]
    longest: tuple[int, str, int] | None
    longest_indentation: int
    contract: Contract
    unknown: tuple[int, str] | None
    roles: Mapping[str, str]
    control_tokens: Mapping[str, list[tuple[int, str]]]
    oddities: Mapping[str, list[Any]]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, tok: _core.Tokenizer, threads: int | None = None) -> Inspection:
        """Inspect a tokenizer."""
        data = json.loads(tok.inspect_json(threads=threads))
        contract, longest = data["contract"], data["longest"]
        control: dict[str, list[tuple[int, str]]] = {}
        for token in tok.control_tokens:
            control.setdefault(token.reason, []).append((token.id, token.content))
        return cls(
            description=json.loads(tok.describe()),
            tokens=data["tokens"],
            size=data["size"],
            kinds={entry["kind"]: entry["count"] for entry in data["kinds"]},
            examples={entry["kind"]: entry["examples"] for entry in data["kinds"]},
            longest=longest and (longest["id"], longest["text"], longest["bytes"]),
            longest_indentation=data["longest_indentation"],
            contract=Contract(
                verdict=contract["verdict"],
                normalizations=tuple(contract["normalizations"]),
                losses=tuple(Loss(**loss) for loss in contract["losses"]),
                by_construction=contract["by_construction"],
                any_bytes=contract["any_bytes"],
                probes=contract["probes"],
            ),
            unknown=_named(data["unknown"]),
            roles=tok.roles,
            control_tokens=control,
            oddities={name: _oddity(name, found) for name, found in data["oddities"].items()},
            warnings=tuple(tok.warnings),
        )

    def embedding_bytes(self, width: int, dtype: DType = "bf16") -> int:
        """Return the size of an embedding matrix with a row for every id.

        Examples
        --------
        >>> import protok
        >>> protok.load("protok:demo").inspect().embedding_bytes(4096, "bf16")
        134217728
        """
        if width < 1 or dtype not in BYTES:
            raise InputError(
                what=f"There is no embedding of width {width} and type {dtype!r}.",
                location="width" if width < 1 else "dtype",
                hint=f"Give a width of 1 or more and one of {', '.join(BYTES)}.",
                value=str(width if width < 1 else dtype),
            )
        return self.size * width * BYTES[dtype]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return data


def _named(data: Mapping[str, Any] | None) -> tuple[int, str] | None:
    return None if data is None else (data["id"], data["token"])


def _oddity(name: str, found: list[Any]) -> list[Any]:
    match name:
        case "holes":
            return [(first, last) for first, last in found]
        case "duplicates":
            return [(tuple(entry["tokens"]), tuple(entry["ids"])) for entry in found]
        case _:
            return [_named(entry) for entry in found]
