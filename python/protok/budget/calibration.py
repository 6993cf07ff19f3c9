"""Compare own counts with what an API reported for the same requests."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from protok.errors import InputError

if TYPE_CHECKING:
    from protok.budget.conversation import Message

__all__ = ["Calibration", "calibrate", "read_usage"]

REPORTED = ("prompt_tokens", "input_tokens")
TEXTS = ("prompt", "input", "text")
CLOSE = 0.02  # a share of the tokens that is no more than noise


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the counts of one model compare.

    Parameters
    ----------
    model
        The model as the API names it.
    requests
        How many requests there were.
    counted, reported
        All tokens as counted here, and as the API reported them.
    exact
        For how many requests both are equal.
    verdict
        What the difference looks like: ``"equal"``, ``"overhead for each request"``,
        ``"overhead for each message"``, ``"another template"``, ``"another tokenizer"``.
    detail
        The same in words, with numbers.

    Examples
    --------
    >>> import protok
    >>> from protok.budget.calibration import calibrate
    >>> usage = [{"model": "m", "prompt": "one two", "usage": {"prompt_tokens": 5}}]
    >>> calibrate(protok.load("protok:demo"), usage * 3)[0].verdict
    'overhead for each request'
    """

    model: str
    requests: int
    counted: int
    reported: int
    exact: int
    verdict: str
    detail: str


@dataclass(frozen=True, slots=True)
class _Request:
    messages: int
    counted: int
    reported: int
    contents: int

    @property
    def difference(self) -> int:
        return self.reported - self.counted


def read_usage(lines: Iterable[str], source: str) -> Iterator[Mapping[str, Any]]:
    """Read JSON lines: a request each, with what the API said of it.

    Examples
    --------
    >>> from protok.budget.calibration import read_usage
    >>> [*read_usage(['{"prompt": "a", "prompt_tokens": 1}'], "usage.jsonl")]
    [{'prompt': 'a', 'prompt_tokens': 1}]
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{source}, line {number}"
        try:
            record = json.loads(line)
        except ValueError as error:
            raise InputError(
                what=f"The line is no JSON: {error}.",
                location=where,
                hint="Write one request a line.",
            ) from error
        if not isinstance(record, dict):
            raise InputError(
                what="The line is no request.", location=where, hint="Write a JSON object a line."
            )
        yield record


def calibrate(tok: Any, usage: Iterable[Mapping[str, Any]]) -> list[Calibration]:
    """Compare counts for each model, and say what a difference looks like.

    Parameters
    ----------
    tok
        The tokenizer that is compared.
    usage
        Requests: ``messages`` (with ``tools``), or a ``prompt``; ``model``; and ``usage`` with
        ``prompt_tokens`` or ``input_tokens``, or one of these by itself.

    Raises
    ------
    InputError
        A request lacks its text or what the API counted.

    Examples
    --------
    >>> import protok
    >>> from protok.budget.calibration import calibrate
    >>> usage = [{"prompt": "one two", "prompt_tokens": 2}]
    >>> calibrate(protok.load("protok:demo"), usage)[0].verdict
    'equal'
    """
    models: dict[str, list[_Request]] = defaultdict(list)
    for index, record in enumerate(usage):
        models[str(record.get("model", "?"))].append(_request(tok, record, index))
    return [_judge(model, requests) for model, requests in sorted(models.items())]


def _request(tok: Any, record: Mapping[str, Any], index: int) -> _Request:
    where = f"request {index}"
    usage = record.get("usage", record)
    reported = next((usage[name] for name in REPORTED if name in usage), None)
    if not isinstance(reported, int):
        raise InputError(
            what="The request does not say what the API counted.",
            location=where,
            position=index,
            hint='Add "usage": {"prompt_tokens": ...}.',
        )
    messages: list[Message] | None = record.get("messages")
    if messages is not None:
        options = {name: record[name] for name in ("tools",) if name in record}
        counted = int(tok.count(messages, **options))
        contents = sum(int(tok.count(_content(message))) for message in messages)
        return _Request(len(messages), counted, reported, contents)
    text = next((record[name] for name in TEXTS if name in record), None)
    if not isinstance(text, str):
        raise InputError(
            what="The request has neither messages nor a prompt.",
            location=where,
            position=index,
            hint='Add "messages" or "prompt".',
        )
    counted = int(tok.count(text))
    return _Request(1, counted, reported, counted)


def _content(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def _judge(model: str, requests: list[_Request]) -> Calibration:
    counted = sum(request.counted for request in requests)
    reported = sum(request.reported for request in requests)
    exact = sum(request.difference == 0 for request in requests)
    verdict, detail = _explain(requests, counted, reported, exact)
    return Calibration(model, len(requests), counted, reported, exact, verdict, detail)


def _explain(requests: list[_Request], counted: int, reported: int, exact: int) -> tuple[str, str]:
    differences = [request.difference for request in requests]
    if exact == len(requests):
        return "equal", "every count is what the API reported"
    if len(set(differences)) == 1:
        return (
            "overhead for each request",
            f"the API reports {differences[0]:+} tokens for every request, whatever is in it",
        )
    each = {request.difference / request.messages for request in requests}
    if len(each) == 1:
        return (
            "overhead for each message",
            f"the API reports {each.pop():+g} tokens for every message",
        )
    # A fixed part for a request and one for each message, as chat formats have.
    slope, base = _line([(request.messages, request.difference) for request in requests])
    if all(request.difference == base + slope * request.messages for request in requests):
        return (
            "another template",
            f"the API reports {slope:+g} tokens for every message and {base:+g} for a request",
        )
    # What grows with the text is the tokenizer's; what does not is the template's.
    rates = [request.difference / max(request.contents, 1) for request in requests]
    typical = median(rates)
    longest = max(requests, key=lambda request: request.contents)
    if abs(longest.difference) <= max(4.0 * longest.messages, CLOSE * longest.contents):
        return (
            "another template",
            (
                "differences do not grow with the text: from "
                f"{min(differences):+} to {max(differences):+} tokens a request"
            ),
        )
    return (
        "another tokenizer",
        (
            f"differences grow with the text: typically {typical:+.1%} of its tokens "
            f"({reported:,} reported, {counted:,} counted)"
        ),
    )


def _line(points: list[tuple[int, int]]) -> tuple[float, float]:
    """Return slope and base through the first two points that differ in what they are of."""
    first = points[0]
    for point in points:
        if point[0] != first[0]:
            slope = (point[1] - first[1]) / (point[0] - first[0])
            return slope, first[1] - slope * first[0]
    return 0.0, float(first[1])
