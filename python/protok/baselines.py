"""Word, character and byte vocabularies: the models that sub-word ones are measured against.

A vocabulary is a list of tokens whose places are their ids. It comes from counted pieces or from
a list; nothing is learned but which pieces are frequent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from protok import _core
from protok.errors import InputError

__all__ = ["COMPONENTS", "Order", "byte_vocabulary", "model_json", "vocabulary"]

Order = Literal["frequency", "spelling"]

_BYTES: dict[str, Any] = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}
# The usual pre-tokenizer and decoder of each model. Words without a decoder are joined with a
# blank between.
COMPONENTS: Mapping[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "word": ({"type": "Whitespace"}, None),
    "character": ({"type": "FixedLength", "length": 1}, {"type": "Fuse"}),
    "byte": (_BYTES, _BYTES),
}


def vocabulary(
    counts: Mapping[str, int] | None,
    listed: Iterable[str],
    *,
    special_tokens: tuple[str, ...],
    unk_token: str | None,
    vocab_size: int | None,
    min_frequency: int,
    order: Order,
    required: tuple[str, ...] = (),
) -> list[str]:
    """Order the tokens of a word or character model: special tokens, pieces, unknown token.

    Counted pieces are kept from the most frequent on, those that sort first among equals, after
    those that are required; a list is kept as it is. A special or unknown token that a list holds
    stays where it stands.
    """
    pieces = list(listed)
    reserved = [*special_tokens, *([] if unk_token is None else [unk_token])]
    if counts is None:
        if len(set(pieces)) < len(pieces):
            token = min(piece for piece, count in Counter(pieces).items() if count > 1)
            raise InputError(
                what=f"The token {token!r} is listed twice.",
                location="tokens",
                hint="List every token once.",
                value=token,
            )
        front = [token for token in special_tokens if token not in pieces]
        back = [token for token in reserved if token not in {*front, *pieces}]
        return _checked([*front, *pieces, *back], vocab_size, listed=True)
    front = list(special_tokens)
    back = [token for token in reserved if token not in front]
    room = None if vocab_size is None else vocab_size - len(front) - len(back)
    wanted = [piece for piece in required if piece not in reserved]
    if room is not None and len(wanted) > room:
        raise InputError(
            what=f"A vocabulary of {vocab_size} has no room for {len(wanted)} required entries.",
            location="required",
            hint="Ask for more tokens, or require fewer.",
            value=str(vocab_size),
        )
    known = {*reserved, *wanted}
    frequent = sorted(
        (item for item in counts.items() if item[1] >= min_frequency and item[0] not in known),
        key=lambda item: (-item[1], item[0]),
    )
    room = None if room is None else room - len(wanted)
    chosen = {piece for piece, _ in frequent[: None if room is None else max(room, 0)]}
    chosen.update(wanted)
    kept = sorted(chosen, key=lambda piece: (-counts.get(piece, 0), piece))
    if order == "spelling":
        kept.sort()
    return _checked([*front, *kept, *back], vocab_size, listed=False)


def _checked(tokens: list[str], vocab_size: int | None, *, listed: bool) -> list[str]:
    if vocab_size is not None and len(tokens) > vocab_size:
        kind = "tokens that the recipe lists" if listed else "special tokens"
        raise InputError(
            what=f"A vocabulary of {vocab_size} has no room for the {len(tokens)} {kind}.",
            location="vocab_size",
            hint=f"Ask for {len(tokens)} or more.",
            value=str(vocab_size),
        )
    return tokens


def byte_vocabulary(special_tokens: tuple[str, ...], vocab_size: int | None) -> list[str]:
    """List the special tokens and the 256 bytes, so that a byte's id is its value and an offset.

    The special tokens ``<pad>``, ``</s>`` and ``<unk>`` give the ids of ByT5.
    """
    alphabet = [token for token in special_tokens if token in _core.BYTE_ALPHABET]
    tokens = [*special_tokens, *_core.BYTE_ALPHABET]
    if alphabet:
        raise InputError(
            what=f"The special token {alphabet[0]!r} is spelled like a byte.",
            location="special_tokens",
            hint="Spell it with more than one character.",
            value=alphabet[0],
        )
    if vocab_size not in {None, len(tokens)}:
        raise InputError(
            what=f"A byte vocabulary has {len(tokens)} tokens, not {vocab_size}.",
            location="vocab_size",
            hint="Leave the size out.",
            value=str(vocab_size),
        )
    return tokens


def model_json(model: str, tokens: list[str], unk_token: str | None) -> dict[str, Any]:
    """Write the model as a ``tokenizer.json`` has it."""
    vocab = {token: id for id, token in enumerate(tokens)}
    if model == "byte":
        return {"type": "BPE", "vocab": vocab, "merges": []}
    # Without an unknown token the name is of none, and text that needs one is refused.
    return {"type": "WordLevel", "vocab": vocab, "unk_token": unk_token or "<unk>"}
