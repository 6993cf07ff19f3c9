"""Counting conversations, and dropping turns that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from protok.errors import InputError

__all__ = ["Message", "Policy", "TruncatedChat", "is_conversation", "truncate_chat", "turns_of"]

Message = Mapping[str, Any]
Turns = Sequence[Sequence[Message]]
Policy = Literal["oldest", "middle"] | Callable[[Turns], Iterable[int]]

KEPT = ("system", "developer")


@dataclass(frozen=True, slots=True)
class TruncatedChat:
    """A conversation without the turns that did not fit.

    Parameters
    ----------
    messages
        What is left, in order.
    tokens
        How many tokens that renders to.
    dropped
        The indices of the messages that are gone.

    Examples
    --------
    >>> from protok.budget import TruncatedChat
    >>> TruncatedChat(({"role": "user", "content": "Hi"},), 5, (1, 2)).dropped
    (1, 2)
    """

    messages: tuple[Message, ...]
    tokens: int
    dropped: tuple[int, ...] = ()


def is_conversation(value: object) -> bool:
    """Tell whether a value is a list of messages, not of texts."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        return False
    return bool(value) and all(isinstance(message, Mapping) for message in value)


def turns_of(messages: Sequence[Message]) -> tuple[list[int], list[list[int]]]:
    """Return the messages that are always kept, and the turns: what a user said and all answers.

    Examples
    --------
    >>> roles = ["system", "user", "assistant", "tool", "assistant", "user"]
    >>> turns_of([{"role": role} for role in roles])
    ([0], [[1, 2, 3, 4], [5]])
    """
    kept: list[int] = []
    turns: list[list[int]] = []
    for index, message in enumerate(messages):
        if message.get("role") in KEPT:
            kept.append(index)
        elif message.get("role") == "user" or not turns:
            turns.append([index])
        else:
            turns[-1].append(index)
    return kept, turns


def truncate_chat(
    messages: Sequence[Message],
    max_tokens: int,
    policy: Policy,
    count: Callable[[Sequence[Message]], int],
) -> TruncatedChat:
    """Drop whole turns, in the order of a policy, until the conversation fits."""
    messages = list(messages)
    _, turns = turns_of(messages)
    order = _order([[messages[index] for index in turn] for turn in turns], policy)
    gone: set[int] = set()
    for drop in [None, *order]:
        if drop is not None:
            gone.update(turns[drop])
        left = [message for index, message in enumerate(messages) if index not in gone]
        tokens = count(left)
        if tokens <= max_tokens:
            return TruncatedChat(tuple(left), tokens, tuple(sorted(gone)))
    what = f"What must be kept has {tokens} tokens, more than {max_tokens}."
    raise InputError(
        what=what,
        value=str(max_tokens),
        hint="Allow for more tokens, or shorten the last turn or the system message with "
        "tok.truncate.",
    )


def _order(turns: Turns, policy: Policy) -> list[int]:
    last = len(turns) - 1
    if policy == "oldest":
        return list(range(last))
    if policy == "middle":
        return list(range(1, last))
    if not callable(policy):
        raise InputError(
            what=f"policy={policy!r} is not known.",
            value=str(policy),
            hint='Use "oldest", "middle" or a function.',
        )
    order = list(policy(turns))
    if wrong := [turn for turn in order if not 0 <= turn <= last]:
        what = f"The policy drops turn {wrong[0]}, of {len(turns)}."
        raise InputError(what=what, position=wrong[0], hint="Turns count from 0.")
    return order
