"""Load an artifact, and the handle on it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from protok import _core, saving, sources
from protok.errors import ArtifactError

if TYPE_CHECKING:
    from protok.spec import Spec
    from protok.trace import Trace

__all__ = ["Tokenizer", "load"]

_OWN_FORMATS = {"tiktoken": "tiktoken", "mistral": "tiktoken", "sentencepiece": "sentencepiece"}


def load(
    source: str | os.PathLike[str] | bytes,
    *,
    encoding: str | None = None,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    control_tokens: Sequence[str] | None = None,
    cache_bytes: int | None = None,
) -> Tokenizer:
    """Load a tokenizer from any artifact.

    Parameters
    ----------
    source
        A folder or a file, its bytes, ``"hf:organisation/name[@revision]"``,
        ``"tiktoken:NAME"``, or ``"protok:demo"``. The files that belong to a tokenizer file of
        the usual name are read with it.
    encoding
        For a rank file: the encoding that gives it its pattern and special tokens.
    pattern, special_tokens
        For a rank file of no known encoding: both, spelled out.
    control_tokens
        The tokens that ordinary text must not spell, in place of those protok finds.
    cache_bytes
        The size of the tokenizer's cache. It changes no result.

    Examples
    --------
    >>> import protok
    >>> tok = protok.load("protok:demo")
    >>> tok.decode(tok.encode("naïve 🐈"))
    'naïve 🐈'
    """
    artifact = sources.read(source)
    size: dict[str, Any] = {} if cache_bytes is None else {"cache_bytes": cache_bytes}
    return Tokenizer(
        artifact.files,
        encoding=encoding if encoding is not None else artifact.encoding,
        pattern=pattern,
        special_tokens=special_tokens,
        control_tokens=control_tokens,
        **size,
    )


class Tokenizer(_core.Tokenizer):
    """An immutable tokenizer, safe to share between threads. Use :func:`load` to make one.

    Examples
    --------
    >>> import protok
    >>> tok = protok.load("protok:demo")
    >>> tok.count("Hello, world") == len(tok.encode("Hello, world"))
    True
    """

    __slots__ = ()

    @property
    def spec(self) -> Spec:
        """What the artifact says about each stage."""
        from protok.spec import Spec  # noqa: PLC0415  (not needed to encode)

        return Spec.from_json(self.describe(), tuple(self.added_tokens))

    def trace(
        self,
        text: str | bytes,
        *,
        add_special_tokens: bool = True,
        special: Literal["raise", "text", "parse"] | Iterable[str] = "raise",
    ) -> Trace:
        """Record what every stage does to a text, merge by merge.

        The reference path reads each piece once for every merge, so this is for texts that a
        person looks at.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> trace = tok.trace("a cat")
        >>> [token["token"] for token in trace.to_dict()["tokens"]]
        ['a', 'Ġcat']
        """
        from protok.trace import Trace  # noqa: PLC0415  (not needed to encode)

        return Trace.from_json(
            self.trace_json(text, add_special_tokens=add_special_tokens, special=special)
        )

    def save(self, path: str | os.PathLike[str], format: str = "huggingface") -> None:
        """Write the tokenizer in a format whose own reader would read it the same.

        A name with a suffix is a file, any other name a folder, which is created. Every file
        is complete or absent: it is written under another name and then renamed.

        Parameters
        ----------
        path
            A folder, or the name of the tokenizer's file.
        format
            ``"huggingface"``: ``tokenizer.json``, and in a folder also what ``transformers``
            needs to open it: roles and chat templates. ``"sentencepiece"``:
            ``tokenizer.model``. ``"tiktoken"``: a rank file, with ``encoding.json`` for its
            pattern and special tokens. ``"vocab.txt"``: BERT's, with ``tokenizer_config.json``.

        Raises
        ------
        ArtifactError
            If the format cannot say exactly what the tokenizer does; ``location`` names the
            component.

        Examples
        --------
        >>> import protok, tempfile
        >>> tok = protok.load("protok:demo")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tok.save(folder)
        ...     protok.load(folder).fingerprint == tok.fingerprint
        True
        """
        placed = saving.place(Path(path), self.to_files(format), format)
        saving.write(placed.folder, placed.files)

    def __repr__(self) -> str:
        model = self.spec.model.type
        return f"<protok.Tokenizer {model} {self.vocab.size} tokens {self.fingerprint[:16]}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # The format that a tokenizer came from comes first: others may say the same in other words.
        own = _OWN_FORMATS.get(self.spec.semantics, "huggingface")
        try:
            files = self.to_files(own)
        except ArtifactError:
            files = self.to_files("huggingface")
        # Control pieces of a model are found again; of added tokens the caller may have chosen.
        added = {token.content for token in self.added_tokens}
        chosen = [token.content for token in self.control_tokens if token.content in added]
        return _restore, (type(self), files, chosen if added else None)


def _restore(cls: type[Tokenizer], files: dict[str, bytes], control: list[str] | None) -> Tokenizer:
    return cls(files, control_tokens=control)
