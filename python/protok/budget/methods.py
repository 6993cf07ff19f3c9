"""What a :class:`~protok.Tokenizer` offers for budgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from protok import _core
from protok.budget.conversation import (
    Message,
    Policy,
    TruncatedChat,
    is_conversation,
    truncate_chat,
)
from protok.budget.cut import Boundary, Cutter, Piece, Side, Truncated
from protok.errors import InputError
from protok.stream import Streaming

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from protok._core import Batch, Encoding, Ids, SpecialPolicy

__all__ = ["Budgeting"]

Result = TypeVar("Result")


class Budgeting(Streaming):
    """The part of a tokenizer that counts and cuts."""

    __slots__ = ()

    @overload  # a str is also an iterable of str: the first overload wins
    def count(  # type: ignore[overload-overlap]
        self,
        text: str | bytes,
        *,
        limit: int | None = None,
        add_special_tokens: bool = False,
        special: SpecialPolicy | None = None,
        threads: int | None = None,
    ) -> int: ...
    @overload
    def count(
        self,
        text: Iterable[str | bytes],
        *,
        limit: None = None,
        add_special_tokens: bool = False,
        special: SpecialPolicy | None = None,
        threads: int | None = None,
    ) -> npt.NDArray[np.int64]: ...
    @overload
    def count(self, text: Sequence[Message], **chat: Any) -> int: ...
    def count(
        self,
        text: str | bytes | Iterable[str | bytes] | Sequence[Message],
        *,
        limit: int | None = None,
        add_special_tokens: bool = False,
        special: SpecialPolicy | None = None,
        threads: int | None = None,
        **chat: Any,
    ) -> int | npt.NDArray[np.int64]:
        """Count the tokens of a text, of each of many, or of a conversation.

        Parameters
        ----------
        text
            A text, an iterable of texts, or a list of messages: then as many as :meth:`chat`
            yields.
        limit
            For a text: stop counting once there are more, and return ``limit + 1``.
        add_special_tokens
            Count the template's control tokens.
        special
            As for :meth:`encode`, but by default ``"text"``: a corpus may spell anything.
        threads
            As for :meth:`encode_batch`.
        **chat
            For messages: what :meth:`chat` takes, such as ``tools``.

        Returns
        -------
        int or numpy.ndarray
            The number of tokens; of many texts an ``int64`` array of shape ``(texts,)``.

        Raises
        ------
        InputError
            A text is not UTF-8, or holds a lone surrogate.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> tok.count("one cat")
        2
        >>> tok.count(["one cat", "one"])
        array([2, 1])
        >>> tok.count("one two three four five", limit=3)
        4
        """
        if is_conversation(text):
            return len(self._chat(text, chat).ids)
        if chat:
            raise TypeError(f"count() got an unexpected keyword argument {next(iter(chat))!r}")
        if limit is None:
            texts: Any = text
            counted: int | npt.NDArray[np.int64] = super().count(
                texts, add_special_tokens=add_special_tokens, special=special, threads=threads
            )
            return counted
        if not isinstance(text, (str, bytes)):
            what = "A limit is for one text, not for many."
            raise InputError(what=what, hint="Count the texts one by one.")
        return _core.count_up_to(
            self, text, limit, add_special_tokens=add_special_tokens, special=special
        )

    def _chat(self, messages: object, options: dict[str, Any]) -> Any:
        # A tokenizer has the method; this part of it does not know it.
        chat: Any = getattr(self, "chat")  # noqa: B009
        return chat(messages, **options)

    def truncate(
        self,
        text: str,
        max_tokens: int,
        *,
        side: Side = "right",
        boundary: Boundary = "grapheme",
        marker: str = "",
        add_special_tokens: bool = False,
        special: SpecialPolicy = "text",
    ) -> Truncated:
        """Cut a text so that it has at most so many tokens, never within a visible character.

        What is left is encoded again, so that its number of tokens is what it has by itself.

        Parameters
        ----------
        text
            The text.
        max_tokens
            How many tokens may be left.
        side
            Where to cut: at the end (``"right"``), at the start, or in the middle.
        boundary
            Where cuts may be: between ``"grapheme"``, ``"word"``, ``"sentence"`` or ``"line"``.
        marker
            What to put where something was cut off; it counts.
        add_special_tokens, special
            As for :meth:`encode`.

        Raises
        ------
        InputError
            Not even the marker fits.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> tok.truncate("one two three four", 3, side="middle", marker="…").text
        'one… four'
        >>> tok.truncate("one two three four", 2, side="left").removed
        ((0, 7),)
        """
        options: dict[str, Any] = {
            "add_special_tokens": add_special_tokens,
            "special": special,
        }
        tokens = _core.count_up_to(self, text, max_tokens, **options)
        if tokens <= max_tokens:
            return Truncated(text, tokens)
        return Cutter(self, text, max_tokens, options).truncate(side, boundary, marker)

    def split(
        self,
        text: str,
        max_tokens: int,
        *,
        overlap: int = 0,
        boundary: Boundary = "grapheme",
        add_special_tokens: bool = False,
        special: SpecialPolicy = "text",
    ) -> list[Piece]:
        """Split a text into pieces of at most so many tokens, which cover it.

        Parameters
        ----------
        text
            The text.
        max_tokens
            How many tokens a piece may have by itself.
        overlap
            How many tokens, at most, of the end of a piece the next one repeats.
        boundary
            Where pieces begin and end: between ``"grapheme"``, ``"word"``, ``"sentence"`` or
            ``"line"``. What does not fit in one piece is cut at the next finer one; a grapheme
            never is.
        add_special_tokens, special
            As for :meth:`encode`.

        Raises
        ------
        InputError
            A single character has more tokens, or the overlap leaves no room.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> [piece.text for piece in tok.split("one two three four", 2, boundary="word")]
        ['one two', ' three four']
        >>> [piece.start for piece in tok.split("one two three four", 2, overlap=1)]
        [0, 3, 7]
        """
        if not 0 <= overlap < max_tokens:
            what = f"An overlap of {overlap} tokens leaves no room in pieces of {max_tokens}."
            raise InputError(what=what, value=str(overlap), hint="Use less than max_tokens.")
        options = {"add_special_tokens": add_special_tokens, "special": special}
        return list(Cutter(self, text, max_tokens, options, least=1).split(overlap, boundary))

    def truncate_chat(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        *,
        policy: Policy = "oldest",
        **chat: Any,
    ) -> TruncatedChat:
        r"""Drop whole turns of a conversation until it renders to at most so many tokens.

        A turn is what a user said with all answers and tool calls after it. System and developer
        messages are kept, and so is the last turn.

        Parameters
        ----------
        messages
            The conversation.
        max_tokens
            How many tokens :meth:`chat` may yield.
        policy
            Which turns go first: the ``"oldest"``; the oldest but the first (``"middle"``); or
            those that a function names, given all turns, in its order.
        **chat
            What :meth:`chat` takes, such as ``tools``.

        Raises
        ------
        InputError
            What must be kept has more tokens.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
        >>> roles = ["system", "user", "assistant", "user"]
        >>> talk = [{"role": role, "content": "one two three"} for role in roles]
        >>> cut = tok.truncate_chat(talk, 20, template=template)
        >>> [message["role"] for message in cut.messages], cut.dropped
        (['system', 'user'], (1, 2))
        """

        def count(left: Sequence[Message]) -> int:
            return len(self._chat(left, chat).ids)

        return truncate_chat(messages, max_tokens, policy, count)

    def append(self, encoding: Encoding, more: str | bytes) -> Encoding:
        """Encode a text that goes on, from the encoding of its beginning.

        Equal to encoding the whole with the options of that encoding; what more text cannot
        change is not encoded again. See :meth:`edit`.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> tok.append(tok.encode("one tw"), "o cats") == tok.encode("one two cats")
        True
        """
        end = len(encoding.original)
        return _core.edit(self, encoding, (end, end), more, "codepoint")[0]

    def edit(
        self,
        encoding: Encoding,
        span: tuple[int, int],
        new: str | bytes,
        *,
        unit: Literal["codepoint", "byte", "utf16", "grapheme"] = "codepoint",
    ) -> Encoding:
        """Encode a text in which a span was replaced, from the encoding before.

        Equal to encoding the whole with the options of that encoding. Only the text around the
        change is encoded, where every stage of the tokenizer is known not to look across the
        place between a letter and a blank before a letter; else all of it. The first edit of an
        encoding that :meth:`encode` made reads its text once, to know where its tokens are.

        Parameters
        ----------
        encoding
            The encoding of one whole text by this tokenizer.
        span
            What is replaced, in its text.
        new
            The text in its place.
        unit
            What the span counts.

        Raises
        ------
        InputError
            The span is not within the text, or the encoding is of a pair, of words, or another
            tokenizer's.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> edited = tok.edit(tok.encode("one big cat"), (4, 7), "small")
        >>> edited == tok.encode("one small cat"), edited.original
        (True, 'one small cat')
        """
        return _core.edit(self, encoding, span, new, unit)[0]

    async def aencode_batch(
        self, texts: Iterable[str | bytes] | Iterable[tuple[str, str]], **options: Any
    ) -> Batch:
        """Encode many texts as :meth:`encode_batch` does, and leave the event loop free.

        Examples
        --------
        >>> import asyncio, protok
        >>> tok = protok.load("protok:demo")
        >>> len(asyncio.run(tok.aencode_batch(["one", "two"])))
        2
        """
        return await _in_thread(partial(self.encode_batch, texts, **options))

    async def adecode_batch(self, batch: Batch | Iterable[Ids], **options: Any) -> list[str]:
        """Decode many texts as :meth:`decode_batch` does, and leave the event loop free.

        Examples
        --------
        >>> import asyncio, protok
        >>> tok = protok.load("protok:demo")
        >>> asyncio.run(tok.adecode_batch(tok.encode_batch(["one", "two"])))
        ['one', 'two']
        """
        return await _in_thread(partial(self.decode_batch, batch, **options))

    async def acount(self, text: Any, **options: Any) -> Any:
        """Count tokens as :meth:`count` does, and leave the event loop free.

        Examples
        --------
        >>> import asyncio, protok
        >>> tok = protok.load("protok:demo")
        >>> asyncio.run(tok.acount(["one cat", "one"]))
        array([2, 1])
        """
        return await _in_thread(partial(self.count, text, **options))


async def _in_thread(work: Callable[[], Result]) -> Result:
    import asyncio  # noqa: PLC0415  (slow to import, and not needed to encode)

    return await asyncio.to_thread(work)
