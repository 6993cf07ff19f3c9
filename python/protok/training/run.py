"""Train: count the corpus, learn the model, compose the tokenizer, and say what happened."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from protok import _core, saving
from protok.errors import InputError
from protok.tokenizer import Tokenizer
from protok.training.artifact import tokenizer_json
from protok.training.counting import Corpus, Counted, Watch, count, front_json, texts_again
from protok.training.learners import Learned, Merge, learn_model, listed_model, with_superwords
from protok.training.recipe import Recipe, checked
from protok.training.recipe_file import plain, read_recipe, to_toml
from protok.training.report import Report, report

__all__ = ["Training", "count_words", "run", "train"]


@dataclass(frozen=True)
class Training:
    """A trained tokenizer with everything that is known about how it came to be.

    Parameters
    ----------
    recipe
        What it was trained by.
    tokenizer
        The result.
    learned
        The model, and the log of the trainer.
    counted
        The corpus, or None for a model that needs none.

    Examples
    --------
    >>> import protok
    >>> from protok.training import run
    >>> training = run(protok.Recipe(vocab_size=260), ["low lower lowest"])
    >>> training.merges[0].left, training.merges[0].right, training.merges[0].count
    ('l', 'o', 3)
    >>> training.provenance["corpus"]["words"]
    3
    """

    recipe: Recipe
    tokenizer: Tokenizer
    learned: Learned
    counted: Counted | None
    threads: int | None = None

    @property
    def merges(self) -> Sequence[Merge]:
        """The log of merges, best first."""
        return self.learned.merges

    @property
    def provenance(self) -> dict[str, Any]:
        """What the tokenizer was made of and by: equal for equal runs, wherever they ran."""
        return {
            "protok": _core.__version__,
            "fingerprint": self.tokenizer.fingerprint,
            "recipe": plain(self.recipe, corpus=False),
            "corpus": None if self.counted is None else self.counted.provenance(self.recipe),
        }

    def report(self) -> Report:
        """Measure the tokenizer on its corpus, and look for what is odd."""
        return report(self.tokenizer, self.learned, self.counted, threads=self.threads)

    def to_files(self) -> dict[str, bytes]:
        """Return the files of the artifact, with its recipe, provenance and report."""
        recipe = to_toml(replace(self.recipe, corpus=()))
        return {
            "report.json": _json(self.report().to_dict()),
            "provenance.json": _json(self.provenance),
            "recipe.toml": recipe.encode(),
            # The tokenizer comes last: with it in place, all of them are.
            **dict(reversed(self.tokenizer.to_files().items())),
        }

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the files into a folder, which holds all of them or is not there.

        Examples
        --------
        >>> import tempfile, pathlib, protok
        >>> from protok.training import run
        >>> training = run(protok.Recipe(vocab_size=260), ["low lower lowest"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     training.save(pathlib.Path(folder, "out"))
        ...     sorted(path.name for path in pathlib.Path(folder, "out").iterdir())
        ['provenance.json', 'recipe.toml', 'report.json', 'tokenizer.json', 'tokenizer_config.json']
        """
        place = saving.Place(Path(folder), self.to_files(), Path(folder))
        with saving.staged(place):
            pass


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, indent=2).encode() + b"\n"


def train(
    recipe: Recipe | str | PathLike[str],
    corpus: Corpus | None = None,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    memory_bytes: int | None = None,
) -> Tokenizer:
    """Train a tokenizer.

    Equal recipes and corpora give equal tokenizers, whatever the number of threads, the memory,
    or the order of files (but under the tie rule ``"first-seen"``).

    Parameters
    ----------
    recipe
        How to train: a `Recipe`, or the name of a TOML file with one.
    corpus
        Texts as strings; files as path objects or as a `protok.corpus.Source`, among them counts
        that `count_words` wrote; or a mapping of words to counts, which are not cut further. One
        file needs no list. By default ``recipe.corpus``, with names relative to the recipe's file;
        a recipe that lists its tokens, and one for bytes, need none.
    threads
        Threads for counting; by default the cores available to the process.
    progress
        Called now and then with the number of the step and the size of the vocabulary.
    memory_bytes
        About the most bytes of memory for counting; what does not fit goes to disk and comes
        back when all is counted. By default there is no limit.

    Returns
    -------
    Tokenizer

    Raises
    ------
    InputError
        If the corpus is empty, the vocabulary is smaller than its alphabet, or the corpus has too
        little for it.

    Examples
    --------
    >>> import protok
    >>> recipe = protok.Recipe(vocab_size=260)
    >>> tok = protok.train(recipe, ["low lower lowest", "new newer newest"])
    >>> tok.encode("lowest").tokens
    ['lo', 'we', 'st']
    >>> recipe = protok.Recipe(model="word", unk_token="<unk>")
    >>> words = protok.train(recipe, ["the cat sat on the mat"])
    >>> words.decode(words.encode("the dog sat on the mat"))
    'the <unk> sat on the mat'
    """
    watch = None if progress is None else _steps(progress)
    return run(recipe, corpus, threads=threads, watch=watch, memory_bytes=memory_bytes).tokenizer


def _steps(progress: Callable[[int, int], None]) -> Watch:
    def watch(phase: str, done: int, total: int) -> None:
        if phase == "learn":
            progress(done, total)

    return watch


def run(
    recipe: Recipe | str | PathLike[str],
    corpus: Corpus | None = None,
    *,
    threads: int | None = None,
    watch: Watch | None = None,
    listed_ties: int = 0,
    memory_bytes: int | None = None,
    spill_folder: str | PathLike[str] | None = None,
) -> Training:
    """Train as `train` does, and return all that is known about it.

    Parameters
    ----------
    recipe, corpus, threads, memory_bytes
        As for `train`.
    watch
        Called with what is going on (``"count"`` or ``"learn"``), and two numbers: the bytes
        read and those there are, or the step and the size of the vocabulary.
    listed_ties
        The most tied pairs to list for each merge: for corpora that a person reads.
    spill_folder
        Where words go that memory has no room for; by default the system's folder for temporary
        files.
    """
    recipe, base = _loaded(recipe)
    full = checked(recipe)
    if full.model == "byte" or full.tokens:
        if corpus is not None or full.corpus:
            raise InputError(
                what="The recipe has its tokens already: there is nothing to learn from a corpus.",
                location="tokens",
                hint="Leave the corpus out, or the tokens.",
            )
        learned = listed_model(full, None)
        return Training(recipe, _tokenizer(full, learned), learned, None)
    limits = _Limits(threads, memory_bytes, spill_folder)
    with _counted(full, corpus, base, limits, watch) as counted:
        counted.counter.finish()
    learned = learn_model(
        full,
        counted.counter,
        threads=threads,
        progress=None if watch is None else lambda step, size: watch("learn", step, size),
        listed_ties=listed_ties,
    )
    if full.superwords:
        learned = with_superwords(
            full,
            learned,
            front_json(full),
            texts_again(full, corpus, base),
            threads=threads,
            progress=None if watch is None else lambda step, size: watch("learn", step, size),
            listed_ties=listed_ties,
        )
    return Training(recipe, _tokenizer(full, learned), learned, counted, threads)


def count_words(
    recipe: Recipe | str | PathLike[str],
    corpus: Corpus | None,
    path: str | PathLike[str],
    *,
    threads: int | None = None,
    memory_bytes: int | None = None,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """Count the words of a corpus into a file, from which training goes on without the corpus.

    Files of counts are a corpus too, so that counting can be spread over machines and merged.

    Parameters
    ----------
    recipe, corpus, threads, memory_bytes
        As for `train`; of the recipe, what cuts the text decides.
    path
        The file to write. It is complete or absent.
    watch
        As for `run`.

    Returns
    -------
    dict
        What the corpus was.

    Examples
    --------
    >>> import pathlib, protok, tempfile
    >>> from protok.training import count_words
    >>> recipe = protok.Recipe(vocab_size=260)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     counts = pathlib.Path(folder, "counts")
    ...     count_words(recipe, ["low lower lowest"], counts)["words"]
    ...     protok.train(recipe, [counts]).encode("lowest").tokens
    3
    ['low', 'e', 's', 't']
    """
    recipe, base = _loaded(recipe)
    full, target = checked(recipe), Path(path)
    limits = _Limits(threads, memory_bytes, target.parent)
    with _counted(full, corpus, base, limits, watch) as counted:
        counted.write(full, target)
    return counted.provenance(full)


def _loaded(recipe: Recipe | str | PathLike[str]) -> tuple[Recipe, Path]:
    """Return a recipe, and the folder that names of files are relative to."""
    if isinstance(recipe, Recipe):
        return recipe, Path()
    return read_recipe(recipe), Path(recipe).parent


class _Limits(NamedTuple):
    """What counting may take, and the folder in which it puts what memory has no room for."""

    threads: int | None
    memory_bytes: int | None
    parent: str | PathLike[str] | None


@contextmanager
def _counted(
    recipe: Recipe, corpus: Corpus | None, base: Path, limits: _Limits, watch: Watch | None
) -> Iterator[Counted]:
    """Count a corpus; what memory has no room for is in a folder that goes afterwards."""
    with ExitStack() as stack:
        folder = None
        if limits.memory_bytes is not None:
            made = tempfile.TemporaryDirectory(prefix=".protok-", dir=limits.parent)
            folder = Path(stack.enter_context(made))
        yield count(
            recipe,
            corpus,
            base=base,
            threads=limits.threads,
            memory_bytes=limits.memory_bytes,
            folder=folder,
            watch=watch,
        )


def _tokenizer(recipe: Recipe, learned: Learned) -> Tokenizer:
    return Tokenizer({"tokenizer.json": tokenizer_json(recipe, learned.model)})
