"""From a corpus to counted words, with what must be known to count them again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protok import _core
from protok.corpus import Block, Facts, Source, expand, read
from protok.errors import InputError
from protok.training.artifact import document

if TYPE_CHECKING:
    from protok.training.recipe import Recipe

__all__ = ["Corpus", "Counted", "Watch", "count", "front_json", "texts_again"]

Items = Mapping[str, int] | Iterable[str | PathLike[str] | Source]
Corpus = Items | PathLike[str] | Source
# Is told the phase, how much of it is done, and how much there is (0 if nobody knows).
Watch = Callable[[str, int, int], object]

_COUNTS = b"protok word counts "
_TEXTS_AT_A_TIME = 4096
_HELD_OUT_BYTES = 1 << 20


@dataclass
class Counted:
    """A counted corpus.

    Parameters
    ----------
    counter
        The words.
    sources
        For each file its hash, size, documents and weight; never its name.
    held_out_share
        How much of the text was held out.
    held_out
        Documents of that to measure on, with what was drawn for each.
    totals
        What was counted in all, once it was written: words, distinct words, their hash.
    """

    counter: _core.WordCounter
    sources: list[dict[str, Any]] = field(default_factory=list)
    held_out_share: float = 0.0
    held_out: list[tuple[int, str]] = field(default_factory=list)
    totals: tuple[int, int, str] | None = None

    @property
    def text_bytes(self) -> int | None:
        """About how many bytes of text were counted, by weight; None for words counted by hand."""
        if any("words" in source for source in self.sources):
            return None
        size = sum(
            float(source.get("text_bytes", source["bytes"]) * source.get("weight", 1.0))
            for source in self.sources
        )
        return round(size * (1 - self.held_out_share))

    def hold_out(self, documents: Iterable[tuple[int, str]]) -> None:
        """Keep the documents with the lowest draws, up to a mebibyte of them."""
        self.held_out.extend(documents)
        if sum(len(text) for _, text in self.held_out) > 4 * _HELD_OUT_BYTES:
            self.trim()

    def trim(self) -> None:
        """Keep no more than is wanted: the same ones whatever the order of the corpus."""
        self.held_out.sort()
        size = 0
        for index, (_, text) in enumerate(self.held_out):
            size += len(text.encode())
            if size > _HELD_OUT_BYTES and index:
                del self.held_out[index:]
                return

    def write(self, recipe: Recipe, path: Path) -> None:
        """Write a file of these counts, which is complete or absent."""
        self.trim()
        about = json.dumps(
            {
                "protok": _core.__version__,
                "front": _front(recipe),
                "sources": _sorted(recipe, self.sources),
                "held_out": self.held_out,
            },
            ensure_ascii=True,
        )
        temporary = path.with_name(f".{path.name}.tmp")
        try:
            self.totals = self.counter.write(temporary, about)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def provenance(self, recipe: Recipe) -> dict[str, Any]:
        """Say what the corpus was."""
        sources = _sorted(recipe, self.sources)
        words, distinct, digest = self.totals or self.counter.totals()
        return {
            "sources": sources,
            "documents": sum(source.get("documents", 0) for source in sources),
            "words": words,
            "distinct_words": distinct,
            "words_sha256": digest,
        }


def _sorted(recipe: Recipe, sources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Order sources by what they are, unless their order is part of the recipe."""
    if _ordered(recipe):
        return sources
    return sorted(sources, key=lambda source: json.dumps(source, sort_keys=True))


def _ordered(recipe: Recipe) -> bool:
    return recipe.tie == "first-seen"


def _front(recipe: Recipe) -> dict[str, Any]:
    """Give everything that decides what is counted."""
    return {
        "normalizer": recipe.normalizer,
        "pre_tokenizer": recipe.pre_tokenizer,
        "training_cut": recipe.training_cut,
        "line_ends": recipe.line_ends,
        "seed": recipe.seed,
        "held_out": recipe.held_out,
    }


def front_json(recipe: Recipe) -> bytes:
    """Write what cuts the corpus as a ``tokenizer.json`` with no model to speak of."""
    pre_tokenizer = recipe.pre_tokenizer
    if recipe.training_cut is not None:
        both = [part for part in (recipe.training_cut, pre_tokenizer) if part is not None]
        pre_tokenizer = {"type": "Sequence", "pretokenizers": both}
    whole = document(normalizer=recipe.normalizer, pre_tokenizer=pre_tokenizer)
    return json.dumps(whole, ensure_ascii=False).encode()


def texts_again(recipe: Recipe, corpus: Corpus | None, base: Path) -> Iterator[list[str]]:
    """Read the documents of a corpus a second time.

    Raises
    ------
    InputError
        If it cannot be read twice, or its documents do not all count once.
    """
    items = _items(recipe, corpus)
    if not isinstance(items, tuple | list):
        raise _once("the corpus", "Pass files, or a list of texts.")
    waiting: list[str] = []
    for item in (_source(item, base) for item in items):
        if isinstance(item, str):
            waiting.append(item)
        if waiting and (len(waiting) == _TEXTS_AT_A_TIME or not isinstance(item, str)):
            yield waiting
            waiting = []
        if not isinstance(item, str):
            yield from _files_again(recipe, *item)
    if waiting:
        yield waiting


def _files_again(recipe: Recipe, source: Source, paths: Sequence[Path]) -> Iterator[list[str]]:
    if source.weight != 1:
        raise _once("a source with a weight", "Leave the weights out.")
    strip = recipe.line_ends == "strip"
    for path in paths:
        if _is_counts(path):
            raise _once(str(path), "Superwords need the texts, not counts of words.")
        for block in read(path, source):
            yield block.documents(source, strip=strip)


def _once(what: str, hint: str) -> InputError:
    return InputError(
        what=f"Superwords are learned in a second reading, and {what} does not allow one.",
        location="superwords",
        hint=hint,
    )


def _counter(recipe: Recipe, memory_bytes: int | None, folder: Path | None) -> _core.WordCounter:
    return _core.WordCounter(
        front_json(recipe),
        ordered=_ordered(recipe),
        memory_bytes=memory_bytes,
        folder=folder,
    )


def count(
    recipe: Recipe,
    corpus: Corpus | None,
    *,
    base: Path,
    threads: int | None = None,
    memory_bytes: int | None = None,
    folder: Path | None = None,
    watch: Watch | None = None,
) -> Counted:
    """Count the words of a corpus; the recipe is checked already."""
    if corpus is None and not recipe.corpus:
        raise InputError(
            what="There is nothing to train on: neither a corpus nor recipe.corpus.",
            hint="Pass texts, paths, or a mapping of words to counts.",
        )
    items = _items(recipe, corpus)
    if isinstance(items, str | bytes):
        raise InputError(
            what="A corpus is a list of texts or paths, not one string.",
            hint="Pass [text] or [Path(name)].",
        )
    counted = Counted(_counter(recipe, memory_bytes, folder), held_out_share=float(recipe.held_out))
    feeder = _Feeder(recipe, counted, threads, watch)
    if isinstance(items, Mapping):
        for word, number in items.items():
            counted.counter.add(word, number)
        counted.sources.append({"words": len(items), "sha256": counted.counter.totals()[2]})
    elif isinstance(items, tuple | list):
        found = [_source(item, base) for item in items]
        feeder.total = sum(
            path.stat().st_size for item in found if not isinstance(item, str) for path in item[1]
        )
        feeder.feed_all(found)
    else:
        feeder.feed_all(_source(item, base) for item in items)
    counted.trim()
    return counted


def _items(recipe: Recipe, corpus: Corpus | None) -> Items:
    """Give what a corpus consists of: by default the recipe's, and a file alone is one of one."""
    if corpus is None:
        return recipe.sources
    return [corpus] if isinstance(corpus, PathLike | Source) else corpus


Item = str | tuple[Source, list[Path]]


def _source(item: str | PathLike[str] | Source, base: Path) -> Item:
    """Give a text as it is, and anything else as a source with its files."""
    if isinstance(item, str):
        return item
    if isinstance(item, Source):
        return item, expand(item, base)
    path = Path(item)
    return Source(files=(str(path),)), expand(Source(files=(str(path),)), "")


@dataclass
class _Feeder:
    recipe: Recipe
    counted: Counted
    threads: int | None
    watch: Watch | None
    total: int = 0
    done: int = 0

    def feed_all(self, items: Iterable[Item]) -> None:
        """Count texts and files in their order."""
        texts: _Texts | None = None
        iterator = iter(items)
        while chunk := list(islice(iterator, _TEXTS_AT_A_TIME)):
            waiting: list[str] = []
            for item in chunk:
                if isinstance(item, str):
                    waiting.append(item)
                    continue
                texts = self._texts(waiting, texts)
                waiting = []
                for path in item[1]:
                    self._file(item[0], path)
            texts = self._texts(waiting, texts)
        if texts is not None:
            self.counted.sources.append(texts.facts())

    def _texts(self, waiting: list[str], texts: _Texts | None) -> _Texts | None:
        if not waiting:
            return texts
        texts = texts or _Texts()
        first = texts.count
        texts.add(waiting)
        self.counted.hold_out(
            self.counted.counter.feed(waiting, first=first, **self._draw(Source()))
        )
        return texts

    def _draw(self, source: Source) -> dict[str, Any]:
        return {
            "threads": self.threads,
            "weight": float(source.weight),
            "seed": self.recipe.seed,
            "held_out": float(self.recipe.held_out),
        }

    def _file(self, source: Source, path: Path) -> None:
        if _is_counts(path):
            self._counts(path)
            return
        facts, documents, size = Facts(), 0, 0
        for block in read(path, source, facts):
            size += block.size()
            documents += self._block(source, block, documents, path)
            if self.watch is not None:
                self.watch("count", self.done + facts.bytes, self.total)
        self.done += facts.bytes
        entry: dict[str, Any] = {"sha256": facts.sha256, "bytes": facts.bytes}
        entry["documents"] = documents
        how = replace(source, files=(), weight=1.0)
        if how != Source():
            changed = {k: v for k, v in vars(how).items() if v != vars(Source())[k]}
            entry |= changed
        if size != facts.bytes:
            entry["text_bytes"] = size
        if source.weight != 1:
            entry["weight"] = float(source.weight)
        if facts.invalid:
            entry["invalid"] = facts.invalid
        self.counted.sources.append(entry)

    def _block(self, source: Source, block: Block, first: int, path: Path) -> int:
        counter, strip = self.counted.counter, self.recipe.line_ends == "strip"
        try:
            if block.data:
                documents, held = counter.feed_block(
                    block.data,
                    split=source.split,
                    separator=source.separator if source.split == "separator" else None,
                    strip=strip,
                    first=first,
                    **self._draw(source),
                )
            else:
                texts = block.documents(source, strip=strip)
                documents = len(texts)
                held = counter.feed(texts, first=first, **self._draw(source))
        except InputError as error:
            if error.location is None:
                error.location = str(path)
            raise
        self.counted.hold_out(held)
        return documents

    def _counts(self, path: Path) -> None:
        """Add what was counted elsewhere, if it was counted in the same way."""
        about = json.loads(self.counted.counter.add_file(path))
        front = json.loads(json.dumps(_front(self.recipe)))
        for key, value in front.items():
            if about["front"].get(key) != value:
                raise InputError(
                    what=f"The words of this file were counted with another {key}.",
                    location=str(path),
                    hint="Count again with this recipe, or train with the one that was used.",
                    value=json.dumps(about["front"].get(key), ensure_ascii=False),
                )
        self.counted.sources.extend(about["sources"])
        self.counted.hold_out((draw, text) for draw, text in about["held_out"])
        self.done += path.stat().st_size


def _is_counts(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_COUNTS)) == _COUNTS
    except OSError:
        return False  # reading it will say why


@dataclass
class _Texts:
    """Texts that came from no file: their hash, with the length of each before it."""

    count: int = 0
    size: int = 0
    hash: Any = field(default_factory=hashlib.sha256)

    def add(self, texts: Iterable[str]) -> None:
        for data in self._encoded(texts):
            self.hash.update(len(data).to_bytes(8, "little"))
            self.hash.update(data)
            self.count += 1
            self.size += len(data)

    @staticmethod
    def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
        # Half characters are for the counter to refuse.
        return (text.encode("utf-8", "surrogatepass") for text in texts)

    def facts(self) -> dict[str, Any]:
        return {"sha256": self.hash.hexdigest(), "bytes": self.size, "documents": self.count}
