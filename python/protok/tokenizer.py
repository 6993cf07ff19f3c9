"""Load an artifact, and the handle on it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from protok import _core, saving, sources
from protok.budget import Budgeting
from protok.errors import ArtifactError, ArtifactWarning, ProtokError

if TYPE_CHECKING:
    from datetime import datetime

    from protok.bulk import Paths
    from protok.chat import Chat, Limits, Trust
    from protok.inspection import Inspection
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
    as_loaded_by: Literal["transformers"] | None = None,
    cache_bytes: int | None = None,
    cache: bool | str | os.PathLike[str] = False,
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
    as_loaded_by
        ``"transformers"`` gives what ``AutoTokenizer.from_pretrained`` of transformers 5.24.0
        makes of the folder. By default the tokenizer file alone decides, and a configuration that
        means another tokenizer is an :class:`~protok.ArtifactWarning`; ``tok.contradictions``
        lists the differences.
    cache_bytes
        The most bytes that the cache of each thread may take; 16 MiB by default. Memory is taken as
        texts need it. It changes no result. Places of tokens take as much again, where they are
        asked for, and words and normalized texts 16 MiB.
    cache
        True keeps a snapshot of the tokenizer in the user's cache folder, and reads it from there
        the next time, if neither its files nor these options nor protok have changed. It changes
        no result. The folder can be deleted at any time, and any number of processes may use it.
        A path names another folder; none that other users can write to is used.

    Examples
    --------
    >>> import protok, tempfile
    >>> tok = protok.load("protok:demo")
    >>> tok.decode(tok.encode("naïve 🐈"))
    'naïve 🐈'

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = protok.load("protok:demo", cache=folder)
    ...     again = protok.load("protok:demo", cache=folder)
    >>> first.from_snapshot, again.from_snapshot, again.fingerprint == tok.fingerprint
    (False, True, True)
    """
    found = sources.find(source)
    sizes: dict[str, Any] = {} if cache_bytes is None else {"cache_bytes": cache_bytes}
    options: dict[str, Any] = {
        "encoding": encoding if encoding is not None else found.encoding,
        "pattern": pattern,
        "special_tokens": special_tokens,
        "control_tokens": control_tokens,
        "as_loaded_by": as_loaded_by,
    }
    if cache is False:
        tok = Tokenizer(found.read().files, **options, **sizes)
    else:
        from protok import snapshots  # noqa: PLC0415  (only where it is asked for)

        folder = snapshots.user_folder() if cache is True else Path(cache)
        tok = snapshots.load(Tokenizer, found, options, sizes, folder)
    if contradictions := tok.contradictions:
        shown = source if isinstance(source, (str, os.PathLike)) else "the tokenizer"
        differences = "".join(f"\n- {difference}" for difference in contradictions)
        warnings.warn(
            f"{shown}: the tokenizer file decides, but its configuration means another tokenizer."
            f"{differences}\n"
            'Pass as_loaded_by="transformers" for what transformers 5 would run, or correct the '
            "configuration.",
            ArtifactWarning,
            stacklevel=2,
        )
    return tok


class Tokenizer(Budgeting):
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

    def inspect(self, *, threads: int | None = None) -> Inspection:
        """Look at the vocabulary by kind, at the round trip, and at what is odd.

        Examples
        --------
        >>> import protok
        >>> inspection = protok.load("protok:demo").inspect()
        >>> inspection.tokens, inspection.kinds["control"]
        (16384, 3)
        """
        from protok.inspection import Inspection  # noqa: PLC0415  (not needed to encode)

        return Inspection.of(self, threads)

    def chat(
        self,
        messages: Sequence[Any],
        *,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Any] | None = None,
        add_generation_prompt: bool | None = None,
        continue_final_message: bool | str = False,
        template: str | None = None,
        trust: Trust = None,
        arguments: Literal["either", "as_given"] = "either",
        clock: datetime | None = None,
        limits: Limits | None = None,
        **variables: Any,
    ) -> Chat:
        """Render a conversation by a chat template and encode it; messages cannot forge tokens.

        Only what the template itself writes, and the tokenizer's own ``bos_token`` and the like,
        is read as control tokens. What messages, tools, documents and variables say is plain text,
        whatever it spells.

        Parameters
        ----------
        messages
            Mappings with ``role`` and ``content``, and whatever the template reads.
        tools, documents
            JSON schemas of functions, and documents, for templates that write them.
        add_generation_prompt
            Write the beginning of an answer. By default, unless the last message goes on.
        continue_final_message
            Leave the last message open: True for its ``content``, or the name of a field.
        template
            The name of one of ``tok.chat_templates``, the text of a template, or ``"mistral:v1"``
            or ``"mistral:v3"`` for Mistral's rules.
        trust
            What may spell control tokens besides: ``"assistant"`` for messages of that role, the
            index of a message, a function of a :class:`~protok.chat.Field`, or ``"all"``.
        arguments
            ``"either"``: the arguments of tool calls mean the same as an object and as JSON text.
            ``"as_given"``: the template sees what was passed, as with ``transformers``.
        clock
            The time that ``strftime_now`` tells.
        limits
            What the template may cost.
        **variables
            Whatever else the template reads.

        Raises
        ------
        TemplateError
            If the template is malformed, refuses the messages, or takes too much.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> template = (
        ...     "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}"
        ... )
        >>> chat = tok.chat([{"role": "user", "content": "Hi<|endoftext|>"}], template=template)
        >>> chat.text
        'user: Hi<|endoftext|><|endoftext|>'
        >>> int(chat.control_mask.sum())  # the template's, not the user's
        1
        """
        try:
            from protok.chat.conversation import chat  # noqa: PLC0415  (needs Jinja2)
        except ModuleNotFoundError as error:
            if error.name not in {"jinja2", "markupsafe"}:
                raise
            raise ProtokError(
                what="Chat templates need Jinja2.", hint="Install it: pip install 'protok[chat]'."
            ) from error
        return chat(
            self,
            messages,
            tools=tools,
            documents=documents,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            template=template,
            trust=trust,
            arguments=arguments,
            clock=clock,
            limits=limits,
            variables=variables,
        )

    def encode_files(
        self,
        paths: Paths,
        *,
        separator: str | None = None,
        add_special_tokens: bool = True,
        special: Literal["raise", "text", "parse"] | Iterable[str] = "text",
        threads: int | None = None,
    ) -> Iterator[_core.Batch]:
        r"""Encode the documents of files on all cores, some megabytes at a time.

        Files are read, and if need be decompressed, in a thread of its own, in blocks of 2 MiB
        that end between two documents; each is encoded while the next is read. So memory does not
        grow with the files: it takes three blocks and their ids, or three documents where one is
        longer. Batches keep no texts: nothing is known of places in them.

        Parameters
        ----------
        paths
            A file, or several, in this order; names may be patterns such as ``data/**/*.txt.gz``.
            Text, JSON Lines, Parquet and Arrow, plain or compressed, by the name. A
            :class:`protok.corpus.Source` says more: where documents end, the field that has the
            text, what to do where bytes are not UTF-8.
        separator
            The text between two documents of a text file, which belongs to neither. By default a
            document is a line, without its end. Empty documents are left out.
        add_special_tokens, special
            As for :meth:`encode`, for each document; control tokens are read as plain text by
            default.
        threads
            How many encode; by default as many as the process has cores. No result depends on it.

        Yields
        ------
        Batch
            Documents of one file, in order: ids in ``values`` (``uint32``), and where each starts
            and ends in ``row_offsets`` (``int64``).

        Raises
        ------
        InputError
            If a file is missing, cannot be read, or is not what its name says; ``location`` says
            which file, and where in it.

        Examples
        --------
        >>> import pathlib, tempfile, protok
        >>> tok = protok.load("protok:demo")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "cats.txt")
        ...     _ = path.write_text("one cat\ntwo cats\n")
        ...     [tok.decode(ids) for batch in tok.encode_files(path) for ids in batch]
        ['one cat', 'two cats']
        """
        from protok.bulk import batches  # noqa: PLC0415  (not needed to encode)

        encode = partial(
            _core.encode_block,
            self,
            add_special_tokens=add_special_tokens,
            special=special if isinstance(special, str) else list(special),
            threads=threads,
        )
        return batches(paths, separator, encode)

    def sample(
        self,
        text: str | bytes | Sequence[str | bytes],
        *,
        seed: int,
        alpha: float | None = None,
        dropout: float | None = None,
        add_special_tokens: bool = True,
        special: Literal["raise", "text", "parse"] | Iterable[str] | None = None,
        is_pretokenized: bool = False,
    ) -> _core.Encoding:
        """Encode a text in a way that is drawn at random, for training that should see many.

        A Unigram model draws a way with a probability that grows with the exponential of its
        score times ``alpha``: the law of the whole text, since pieces are drawn independently.
        A BPE model leaves out each merge that comes up with the chance ``dropout``. A model with
        one way to cut a text refuses.

        Parameters
        ----------
        text
            A text, or a list of words if ``is_pretokenized``.
        seed
            Seed of the generator, ChaCha with 8 rounds (``seed_from_u64`` of ``rand_chacha``). It
            starts anew for each text, so one seed gives a text one result wherever it stands.
        alpha
            For Unigram: 0 makes all ways as likely, large numbers the best one certain. By
            default 0.1.
        dropout
            For BPE: a chance from 0 to 1. By default the artifact's own, or else 0.1.
        add_special_tokens, special
            As for :meth:`encode`.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> tok.decode(tok.sample("tokenization", seed=7, dropout=0.5))
        'tokenization'
        >>> tok.sample("tokenization", seed=7) == tok.sample("tokenization", seed=7)
        True
        >>> tok.sample("a cat", seed=1, dropout=1).tokens
        ['a', 'Ġ', 'c', 'a', 't']
        """
        return super().sample(
            text,
            seed=seed,
            alpha=alpha,
            dropout=dropout,
            add_special_tokens=add_special_tokens,
            special=special,
            is_pretokenized=is_pretokenized,
        )

    def nbest(
        self,
        text: str | bytes,
        k: int,
        *,
        add_special_tokens: bool = True,
        special: Literal["raise", "text", "parse"] | Iterable[str] | None = None,
    ) -> list[tuple[_core.Encoding, float]]:
        """Encode a text in the ``k`` best ways, best first, each with its score.

        The score of a way is the sum of the scores of its tokens, which are logarithms of
        probabilities, over the whole text. Where the pre-tokenizer cuts a text into pieces, a way
        is a choice of one for each piece. Of ways with one score, the order is SentencePiece's
        within a piece; between pieces, better ways of the pieces in front come first. There are
        fewer than ``k`` where the text has no more. Only Unigram models rank ways.

        Examples
        --------
        >>> import protok
        >>> tok = protok.load("protok:demo")
        >>> try:
        ...     tok.nbest("tokenization", 3)
        ... except protok.InputError as error:
        ...     print(error.what)
        A BPE model does not rank ways to cut a text.
        """
        return super().nbest(text, k, add_special_tokens=add_special_tokens, special=special)

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
