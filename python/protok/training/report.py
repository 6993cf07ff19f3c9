"""What a person should see of a new vocabulary before it is used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protok.tokenizer import Tokenizer
    from protok.training.counting import Counted
    from protok.training.learners import Learned

__all__ = ["Measure", "Report", "report"]

_LONG = 24  # characters of a token that is worth a look
_LISTED = 50


@dataclass(frozen=True)
class Measure:
    """Some text, and how short it becomes.

    Parameters
    ----------
    bytes, tokens
        Its length in UTF-8, and in tokens.
    """

    bytes: int
    tokens: int

    @property
    def bytes_per_token(self) -> float:
        """How many bytes a token stands for."""
        return self.bytes / self.tokens if self.tokens else 0.0


@dataclass(frozen=True)
class Report:
    """Figures of a training.

    Parameters
    ----------
    tokens
        The size of the vocabulary.
    first
        The first merges, or the pieces with the highest scores, with their counts or scores.
    training
        The whole corpus, as counted words.
    held_out
        What was held out of it, if the recipe says so.
    round_trip
        How many held-out documents there are, and those that decode to another text, at most
        ten: with a normalizer that is to be expected.
    refused
        Words of the corpus that the model cannot encode.
    used
        How often each entry is used on the corpus, by id.
    odd
        Entries by what is odd about them.
    contract
        What the pipeline loses by its construction.
    entries
        The vocabulary by id.
    """

    tokens: int
    first: tuple[tuple[str, float], ...]
    training: Measure | None
    held_out: Measure | None
    round_trip: tuple[int, tuple[str, ...]]
    refused: int
    used: tuple[int, ...]
    odd: Mapping[str, list[tuple[int, str]]]
    contract: str
    entries: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, with the entries by id."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        used = data.pop("used")
        names = data.pop("entries")
        data["entries"] = [
            {"id": id, "token": name, "count": used[id] if used else None}
            for id, name in enumerate(names)
        ]
        return data


def report(
    tok: Tokenizer, learned: Learned, counted: Counted | None, *, threads: int | None = None
) -> Report:
    """Measure a tokenizer on the corpus it was learned from."""
    used: list[int] = []
    training, refused = None, 0
    if counted is not None:
        used, tokens, size, refused = counted.counter.usage(tok, threads=threads)
        whole = counted.text_bytes
        training = Measure(size if whole is None else whole, tokens)
    texts = [] if counted is None else [text for _, text in counted.held_out]
    held_out, other = None, []
    if texts:
        batch = tok.encode_batch(texts, add_special_tokens=False, special="text", threads=threads)
        held_out = Measure(sum(len(text.encode()) for text in texts), len(batch.values))
        decoded = tok.decode_batch(batch, threads=threads)
        other = [t for t, back in zip(texts, decoded, strict=True) if t != back][:10]
    inspection = tok.inspect(threads=threads)
    names = [_name(tok, id) for id in range(tok.vocab.size)]
    return Report(
        tokens=inspection.tokens,
        first=_first(learned),
        training=training,
        held_out=held_out,
        round_trip=(len(texts), tuple(other)),
        refused=refused,
        used=tuple(used),
        odd=_odd(tok, used, names, inspection.oddities),
        contract=inspection.contract.verdict,
        entries=tuple(names),
    )


def _name(tok: Tokenizer, id: int) -> str:
    try:
        return tok.vocab.token(id)
    except ValueError:
        return ""


def _first(learned: Learned) -> tuple[tuple[str, float], ...]:
    if learned.merges:
        return tuple((f"{m.left} {m.right}", float(m.count)) for m in learned.merges[:_LISTED])
    if learned.pieces:
        best = sorted(learned.pieces, key=lambda piece: (-piece[1], piece[0]))
        return tuple(piece for piece in best if piece[1] < 0)[:_LISTED]
    return ()


def _odd(
    tok: Tokenizer, used: list[int], names: list[str], oddities: Mapping[str, list[Any]]
) -> dict[str, list[tuple[int, str]]]:
    """Flag entries that are never used, very long, or what the inspection finds."""
    control = {token.id for token in tok.control_tokens}
    unused = [
        (id, names[id])
        for id, count in enumerate(used)
        if count == 0 and id not in control and names[id] and not _is_byte(names[id])
    ]
    long = [(id, name) for id, name in enumerate(names) if len(name) > _LONG and id not in control]
    repeated = [
        (id, name) for id, name in enumerate(names) if len(name) > 5 and len(set(name)) <= 2
    ]
    odd = {"used only inside others": unused, "very long": long, "one sign repeated": repeated}
    for key in ("unreachable", "never_matched", "markup"):
        odd[key.replace("_", " ")] = [entry for entry in oddities.get(key, []) if entry]
    return {key: found for key, found in odd.items() if found}


def _is_byte(name: str) -> bool:
    return len(name) == 1 or (len(name) == 6 and name.startswith("<0x"))
