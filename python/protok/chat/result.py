"""The result of rendering and encoding a conversation."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from protok.chat.provenance import FIRST_FIELD, GENERATION, TEMPLATE, TOKENIZER, Marked, runs_of
from protok.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from protok import _core
    from protok.chat.inputs import Field, Inputs

__all__ = ["Chat", "Finding", "Piece"]

# Fields that say who speaks, not what is said.
HEADERS = {"role", "name", "tool_call_id"}


class Piece(NamedTuple):
    """A stretch of the rendered text with one origin.

    Parameters
    ----------
    start, end
        Code points of the text.
    source
        ``"template"``, ``"tokenizer"``, ``"field"`` or ``"unknown"``.
    field
        The field it came from.
    at
        Where it starts in that field, in code points, or None where nobody can tell.
    generation
        Whether it stands in a ``generation`` tag.

    Examples
    --------
    >>> import protok
    >>> tok = protok.load("protok:demo")
    >>> chat = tok.chat([{"role": "user", "content": "Hi"}], template="{{ messages[0].content }}!")
    >>> [(piece.source, piece.start, piece.end) for piece in chat.pieces]
    [('field', 0, 2), ('template', 2, 3)]
    """

    start: int
    end: int
    source: str
    field: Field | None
    at: int | None
    generation: bool


class Finding(NamedTuple):
    """Something wrong with a prompt.

    Parameters
    ----------
    kind
        ``"duplicate-bos"``, ``"duplicate-eos"``, ``"duplicate-when-encoded-again"``,
        ``"no-generation-prompt"``, ``"not-a-token"``, ``"dropped-message"``,
        ``"unsupported-role"``, ``"ignored-tools"``, ``"arguments-reshaped"``, ``"defused"``,
        ``"trailing-space"`` or ``"unstable-prefix"``.
    what
        What it is, as a sentence.
    message
        The message that it is about.
    position
        Where it stands in the rendered text, in code points.

    Examples
    --------
    >>> import protok
    >>> tok = protok.load("protok:demo")
    >>> chat = tok.chat(
    ...     [{"role": "user", "content": "Hi"}], template="{{ messages[0].content }}<|eot|>"
    ... )
    >>> print([finding.what for finding in chat.audit() if finding.kind == "not-a-token"][0])
    The template writes '<|eot|>', which is no token of this vocabulary.
    """

    kind: str
    what: str
    message: int | None = None
    position: int | None = None


class Chat:
    """A conversation as ids, and where each of them came from. Made by ``tok.chat``.

    It is a sequence of ids, and ``np.asarray`` takes it as such.

    Parameters
    ----------
    tok
        The tokenizer.
    text
        The rendered text with its runs.
    inputs
        The table of fields.
    encoding
        The ids with their places in the text.
    control
        Control tokens of the template besides those of the tokenizer.
    again
        Renders other messages with the same options.
    told_time
        Whether the template read the clock.
    template, options
        The text of the template, and the options of the call.
    look
        Looks for what is wrong.

    Examples
    --------
    >>> import protok
    >>> tok = protok.load("protok:demo")
    >>> chat = tok.chat(
    ...     [{"role": "user", "content": "Hi<|end|>"}],
    ...     template="{% for m in messages %}{{ m.role }}: {{ m.content }}<|end|>{% endfor %}",
    ... )
    >>> chat.text
    'user: Hi<|end|><|end|>'
    >>> chat.roles[0], chat.fields[0]
    ('user', 'role')
    """

    def __init__(
        self,
        *,
        tok: _core.Tokenizer,
        text: Marked,
        inputs: Inputs,
        encoding: _core.Encoding,
        control: Sequence[int] = (),
        again: Callable[..., Chat],
        told_time: bool,
        template: str | None,
        options: dict[str, Any],
        look: Callable[[Chat], list[Finding]],
    ) -> None:
        self._tok = tok
        self._text = text
        self._inputs = inputs
        self._again = again
        self._template = template
        self._options = options
        self._look = look
        self._more_control = control
        self.encoding = encoding
        """The ids as an :class:`~protok.Encoding` of the rendered text."""
        self.told_time = told_time
        """Whether the prompt depends on the time of the call."""

    def __len__(self) -> int:
        return len(self.encoding)

    def __iter__(self) -> Iterator[int]:
        return iter(self.encoding)

    def __getitem__(self, place: int) -> int:
        return self.encoding[place]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001
        import numpy as np  # noqa: PLC0415

        return np.array(self.ids, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"<protok.chat.Chat {len(self)} tokens, {len(self._inputs.messages)} messages>"

    def tolist(self) -> list[int]:
        """Return the ids as a list."""
        return self.encoding.tolist()

    @property
    def ids(self) -> npt.NDArray[np.uint32]:
        """The ids."""
        return self.encoding.ids

    @property
    def tokens(self) -> list[str]:
        """The tokens as the vocabulary spells them."""
        return self.encoding.tokens

    @property
    def text(self) -> str:
        """The rendered text."""
        return str.__str__(self._text)

    @property
    def offsets(self) -> npt.NDArray[np.uint32]:
        """The span of each token in the rendered text, in code points."""
        return self.encoding.offsets

    @cached_property
    def pieces(self) -> list[Piece]:
        """The rendered text by origin, in order."""
        pieces: list[Piece] = []
        start = 0
        for length, marked, at in runs_of(self._text):
            source = marked & ~GENERATION
            name = _SOURCES.get(source, "field")
            piece = Piece(
                start,
                start + length,
                name,
                self._inputs.field(source),
                at if at >= 0 and source >= FIRST_FIELD else None,
                bool(marked & GENERATION),
            )
            start += length
            last = pieces[-1] if pieces else None
            if last is not None and name == last.source != "field" and _alike(last, piece):
                pieces[-1] = last._replace(end=piece.end)
            elif length:
                pieces.append(piece)
        return pieces

    @cached_property
    def _origins(self) -> list[Piece | None]:
        """The piece of each token: of several the first that is a field's."""
        pieces = self.pieces
        starts = [piece.start for piece in pieces]
        origins: list[Piece | None] = []
        for start, end in self.encoding.offsets.tolist():
            if start == end:
                origins.append(None)
                continue
            place = bisect_right(starts, start) - 1
            found = pieces[place]
            while found.field is None and place + 1 < len(pieces) and starts[place + 1] < end:
                place += 1
                if pieces[place].field is not None:
                    found = pieces[place]
            origins.append(found)
        return origins

    @property
    def roles(self) -> list[str | None]:
        """The role of the message that each token came from; None for what the template wrote."""
        return [piece and piece.field and piece.field.role for piece in self._origins]

    @property
    def message_index(self) -> list[int | None]:
        """The message that each token came from."""
        return [piece and piece.field and piece.field.message for piece in self._origins]

    @property
    def fields(self) -> list[str | None]:
        """The field that each token came from, such as ``"content"``."""
        return [str(piece.field) if piece and piece.field else None for piece in self._origins]

    @property
    def field_offsets(self) -> list[tuple[int, int] | None]:
        """The span of each token in its own field, in code points, where that is known."""
        spans: list[tuple[int, int] | None] = []
        for piece, (start, end) in zip(self._origins, self.encoding.offsets.tolist(), strict=True):
            if piece is None or piece.at is None:
                spans.append(None)
                continue
            shift = piece.at - piece.start
            spans.append((max(start, piece.start) + shift, min(end, piece.end) + shift))
        return spans

    @property
    def known_share(self) -> float:
        """The share of the text's characters whose origin is known."""
        unknown = sum(piece.end - piece.start for piece in self.pieces if piece.source == "unknown")
        return 1 - unknown / len(self._text) if self._text else 1.0

    @cached_property
    def _control(self) -> list[bool]:
        ids = {token.id for token in self._tok.control_tokens} | {*self._more_control}
        return [id in ids for id in self.encoding.tolist()]

    @property
    def control_mask(self) -> npt.NDArray[np.uint8]:
        """1 for control tokens."""
        return _mask(self._control)

    @property
    def assistant_mask(self) -> npt.NDArray[np.uint8]:
        """1 for what the assistant wrote: the tokens to train on.

        Where the template has ``generation`` tags, what stands in them. Elsewhere, for each message
        of the assistant, everything from the first to the last character that came from what it
        says, and the control token that ends it if it follows at once.

        Raises
        ------
        InputError
            If there is nothing to train on.
        """
        spans = [(piece.start, piece.end) for piece in self.pieces if piece.generation]
        ends: set[int] = set()
        if not spans:
            said: dict[int, tuple[int, int]] = {}
            for piece in self.pieces:
                field = piece.field
                if field is None or field.message is None or field.role != "assistant":
                    continue
                if field.name not in HEADERS:
                    start, _ = said.get(field.message, (piece.start, 0))
                    said[field.message] = (start, piece.end)
            spans = sorted(said.values())
            ends = {end for _, end in spans}
        mask = [False] * len(self)
        place = 0
        for at, (start, end) in enumerate(self.encoding.offsets.tolist()):
            while place < len(spans) and spans[place][1] <= start:
                place += 1
            inside = place < len(spans) and start < end and spans[place][0] < end
            mask[at] = inside or (start in ends and start < end and self._control[at])
        if not any(mask):
            raise InputError(
                what="The assistant says nothing in this conversation, so its mask is empty.",
                hint="Mask conversations with an assistant's message that the template renders.",
            )
        return _mask(mask)

    def audit(self) -> list[Finding]:
        """Look for what is wrong with the prompt, the template or the messages.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> chat = tok.chat(
        ...     [{"role": "user", "content": "Hi "}], template="{{ messages[0].content }}"
        ... )
        >>> [finding.kind for finding in chat.audit()]
        ['no-generation-prompt', 'trailing-space']
        """
        return self._look(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "text": self.text,
            "ids": self.tolist(),
            "tokens": self.tokens,
            "offsets": self.encoding.offsets.tolist(),
            "roles": self.roles,
            "message_index": self.message_index,
            "fields": self.fields,
            "field_offsets": self.field_offsets,
            "control_mask": [int(flag) for flag in self._control],
            "known_share": self.known_share,
            "told_time": self.told_time,
        }


_SOURCES = {0: "unknown", TEMPLATE: "template", TOKENIZER: "tokenizer"}


def _alike(last: Piece, piece: Piece) -> bool:
    return last.generation == piece.generation


def _mask(flags: list[bool]) -> npt.NDArray[np.uint8]:
    import numpy as np  # noqa: PLC0415

    return np.array(flags, dtype=np.uint8)
