"""Ids back to text while they are made: what a :class:`~protok.Tokenizer` offers for it."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from protok import _core

if TYPE_CHECKING:
    from protok._core import Delta, Ids, Stream

__all__ = ["Streaming"]


class Streaming(_core.Tokenizer):
    """The part of a tokenizer that turns ids into text as they come."""

    __slots__ = ()

    def stream(
        self,
        *,
        stop: str | Iterable[str] | None = None,
        stop_ids: int | Ids | None = None,
        include_stop: bool = False,
        start_after: str | None = None,
        visible_only: bool = True,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict"] = "replace",
        unknown: Literal["raise", "skip"] = "raise",
        clean_up_spaces: bool = False,
        after: Ids | None = None,
        max_rollback: int = 32,
    ) -> Stream:
        """Decode ids as they come, and stop at stop strings.

        Joined, what the stream gives is what :meth:`decode` gives for all ids, however they are
        cut into pushes. Text is held back only while an id that is still to come could change it.
        Work is constant for each id. A decoder that reads the text as a whole (an expression over
        joined tokens, a SentencePiece denormalizer) gives it at the end.

        Parameters
        ----------
        stop
            Strings that end the text: the one that is complete first; of those complete at the
            same character the longest; of equal ones the first.
        stop_ids
            Ids that end the text.
        include_stop
            Whether the stop string, or the text of the stop id, is part of the text.
        start_after
            A text after which to begin looking for stop strings, such as ``"</think>"``. Stop ids
            end the text from the beginning.
        visible_only
            Whether to look only at text that is given; if not, also at the spelling of each
            special token that is skipped.
        skip_special_tokens, errors, unknown, clean_up_spaces
            As for :meth:`decode`. ``errors="reference"`` cannot be streamed.
        after
            Ids that stand before, such as a prompt. Their text is not given, but for the
            character or the blanks that they leave open.
        max_rollback
            How many ids :meth:`Stream.rollback` can take back.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> stream = tok.stream(stop=[" four"])
        >>> deltas = [stream.push(id) for id in tok.encode("one two four five")]
        >>> [delta.text for delta in deltas]
        ['one', ' two', '', '']
        >>> stream.stopped, stream.stop_span
        (True, (7, 12))
        """
        return _core.Stream(
            self,
            stop=stop,
            stop_ids=stop_ids,
            include_stop=include_stop,
            start_after=start_after,
            visible_only=visible_only,
            skip_special_tokens=skip_special_tokens,
            errors=errors,
            unknown=unknown,
            clean_up_spaces=clean_up_spaces,
            after=after,
            max_rollback=max_rollback,
        )

    async def astream(
        self,
        source: AsyncIterable[int | Sequence[int]] | Iterable[int | Sequence[int]],
        *,
        stop: str | Iterable[str] | None = None,
        stop_ids: int | Ids | None = None,
        include_stop: bool = False,
        start_after: str | None = None,
        visible_only: bool = True,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict"] = "replace",
        unknown: Literal["raise", "skip"] = "raise",
        clean_up_spaces: bool = False,
        after: Ids | None = None,
    ) -> AsyncIterator[Delta]:
        """Decode ids that come from an asynchronous source.

        Yields each delta that has text or ids, and last the one that says why no more comes. At a
        stop the source is closed.

        Parameters
        ----------
        source
            What yields an id, or several, at a time.
        stop, stop_ids, include_stop, start_after, visible_only, after
            As for :meth:`stream`.
        skip_special_tokens, errors, unknown, clean_up_spaces
            As for :meth:`decode`.

        Examples
        --------
        >>> import asyncio, protok
        >>> tok = protok.load("protok:demo")
        >>> async def join(ids):
        ...     return [delta.text async for delta in tok.astream(ids, stop="cat")]
        >>> asyncio.run(join(tok.encode("one cat, two cats")))
        ['one', ' ']
        """
        stream = self.stream(
            stop=stop,
            stop_ids=stop_ids,
            include_stop=include_stop,
            start_after=start_after,
            visible_only=visible_only,
            skip_special_tokens=skip_special_tokens,
            errors=errors,
            unknown=unknown,
            clean_up_spaces=clean_up_spaces,
            after=after,
            max_rollback=0,
        )
        items = source if isinstance(source, AsyncIterable) else _as_async(source)
        iterator = aiter(items)
        try:
            async for item in iterator:
                delta = stream.push(item)
                if delta.text or delta.ids or delta.stopped:
                    yield delta
                if delta.stopped:
                    return
            yield stream.finish()
        finally:
            if (close := getattr(iterator, "aclose", None)) is not None:
                await close()


async def _as_async(
    source: Iterable[int | Sequence[int]],
) -> AsyncIterator[int | Sequence[int]]:
    for item in source:
        yield item
