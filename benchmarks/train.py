"""Measure training beside other trainers: each run in a process of its own.

    python -m benchmarks.train CORPUS                      byte-level BPE, 32,000 tokens
    python -m benchmarks.train CORPUS --only protok-bpe gigabpe --size 50000 --repeat 3
    python -m benchmarks.train CORPUS --only protok-unigram sentencepiece-unigram --size 32000

The corpus is one UTF-8 file; all read it themselves. The table has the wall time and the processor
time from the start of reading to the finished vocabulary, without imports, and the most memory of
the process. Byte-level merges are compared with those of the first trainer that has some, as
many as fit beside all 256 bytes: a trainer whose alphabet is that of the corpus makes a few more.
For Unigram models the figure in the last column is the negative log-likelihood per character of the
corpus (all segmentations), under the words that protok counts. Trainers that are not
installed are left out, and named.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import protok
from protok import _core
from protok.corpus import Source, read
from protok.training.artifact import document

BLANK = "\u2581"
NAMES = {
    "protok-bpe": "protok",
    "gigabpe": "gigabpe",
    "tokenizers-bpe": "tokenizers",
    "protok-wordpiece": "protok",
    "tokenizers-wordpiece": "tokenizers",
    "protok-sentencepiece-bpe": "protok",
    "sentencepiece-bpe": "sentencepiece",
    "protok-unigram": "protok",
    "sentencepiece-unigram": "sentencepiece",
    "protok-superwords": "protok",
}
BYTE_LEVEL = ("protok-bpe", "gigabpe", "tokenizers-bpe")

Trained = tuple[list[tuple[str, str]], list[tuple[str, float]]]


@dataclass(frozen=True)
class Job:
    """One training."""

    corpus: Path
    size: int
    threads: int


def counter(normalizer: Any, pre_tokenizer: Any, job: Job) -> _core.WordCounter:
    """Count the words of a corpus, a line a text."""
    components = document(normalizer=normalizer, pre_tokenizer=pre_tokenizer)
    words = _core.WordCounter(json.dumps(components).encode(), ordered=False)
    for block in read(job.corpus, Source()):
        words.feed_block(block.data, threads=job.threads)
    words.finish()
    return words


def byte_level(*, use_regex: bool) -> dict[str, Any]:
    """Give GPT-2's pre-tokenizer, or what is left of it where it does not cut."""
    options = {"add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}
    return {"type": "ByteLevel", **options}


def byte_words(job: Job) -> _core.WordCounter:
    """Count words as GPT-2 cuts them."""
    return counter(None, byte_level(use_regex=True), job)


def blank_words(job: Job) -> _core.WordCounter:
    """Count words as SentencePiece cuts them: at blanks, which become the mark before a word."""
    blanks = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    normalizer = {"type": "Sequence", "normalizers": [{"type": "NFKC"}, blanks, strip]}
    cut = {"type": "Metaspace", "replacement": BLANK, "prepend_scheme": "always", "split": True}
    return counter(normalizer, cut, job)


def bert_words(job: Job) -> _core.WordCounter:
    """Count words as BERT cuts them."""
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    }
    return counter(normalizer, {"type": "BertPreTokenizer"}, job)


def pairs(training: Any) -> list[tuple[str, str]]:
    """Spell the merges of a training."""
    tokens = training["tokens"]
    return [(tokens[merge[0]], tokens[merge[1]]) for merge in training["merges"]]


def protok_bpe(job: Job) -> Trained:
    """Train byte-level BPE."""
    words = byte_words(job)
    alphabet = _core.BYTE_ALPHABET
    return pairs(_core.train_bpe(words, vocab_size=job.size, initial_alphabet=alphabet)), []


def gigabpe(job: Job) -> Trained:
    """Train byte-level BPE."""
    import gigabpe as library

    _, merges = library.train_bpe(
        [str(job.corpus)], job.size, pretokenizer="bytelevel", special_tokens=[]
    )
    return list(merges), []


def tokenizers_bpe(job: Job) -> Trained:
    """Train byte-level BPE."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=job.size, initial_alphabet=alphabet, show_progress=False, special_tokens=[]
    )
    tokenizer.train([str(job.corpus)], trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(left, right) for left, right in merges], []


def protok_wordpiece(job: Job) -> Trained:
    """Train WordPiece by counts."""
    return pairs(_core.train_wordpiece(bert_words(job), vocab_size=job.size)), []


def tokenizers_wordpiece(job: Job) -> Trained:
    """Train WordPiece, which is BPE with a prefix there."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=job.size, show_progress=False, special_tokens=["[UNK]"]
    )
    tokenizer.train([str(job.corpus)], trainer)
    return [], []


def protok_sentencepiece_bpe(job: Job) -> Trained:
    """Train BPE on characters with SentencePiece's coverage."""
    training = _core.train_bpe(
        blank_words(job), vocab_size=job.size - 259, symbols="characters", character_coverage=0.9995
    )
    return pairs(training), []


def protok_unigram(job: Job) -> Trained:
    """Train Unigram with SentencePiece's coverage and byte fallback."""
    training = _core.train_unigram(
        blank_words(job),
        vocab_size=job.size,
        character_coverage=0.9995,
        byte_fallback=True,
        special_tokens=["<unk>", "<s>", "</s>"],
        threads=job.threads,
    )
    return [], training["pieces"]


def protok_superwords(job: Job) -> Trained:
    """Train byte-level BPE whose last quarter of tokens joins words."""
    recipe = protok.Recipe(
        vocab_size=job.size,
        pre_tokenizer=byte_level(use_regex=False),
        training_cut=byte_level(use_regex=True),
        superwords=job.size // 4,
    )
    protok.train(recipe, [job.corpus], threads=job.threads)
    return [], []


def sentencepiece(kind: str) -> Callable[[Job], Trained]:
    """Return a trainer of this kind of model."""

    def train(job: Job) -> Trained:
        import sentencepiece as library

        with tempfile.TemporaryDirectory() as folder:
            prefix = Path(folder) / "model"
            library.SentencePieceTrainer.train(
                input=str(job.corpus),
                model_prefix=str(prefix),
                model_type=kind,
                vocab_size=job.size,
                num_threads=job.threads,
                character_coverage=0.9995,
                byte_fallback=True,
                max_sentence_length=1 << 20,
                minloglevel=2,
            )
            if kind != "unigram":
                return [], []
            listed = prefix.with_suffix(".vocab").read_text("utf-8").split("\n")
        entries = [line.split("\t") for line in listed if line]
        beside = {"<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))}
        return [], [(piece, float(score)) for piece, score in entries if piece not in beside]

    return train


TRAINERS: dict[str, Callable[[Job], Trained]] = {
    "protok-bpe": protok_bpe,
    "gigabpe": gigabpe,
    "tokenizers-bpe": tokenizers_bpe,
    "protok-wordpiece": protok_wordpiece,
    "tokenizers-wordpiece": tokenizers_wordpiece,
    "protok-sentencepiece-bpe": protok_sentencepiece_bpe,
    "sentencepiece-bpe": sentencepiece("bpe"),
    "protok-unigram": protok_unigram,
    "sentencepiece-unigram": sentencepiece("unigram"),
    "protok-superwords": protok_superwords,
}


def one(name: str, job: Job) -> dict[str, Any]:
    """Train once, in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    merges, pieces = TRAINERS[name](job)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    merges = merges[: job.size - 256]
    spelled = hashlib.sha256(json.dumps(merges).encode()).hexdigest() if merges else None
    loss = None
    if pieces:
        loss = _core.unigram_likelihood(pieces, blank_words(job))["marginal"]
    return {"wall": wall, "cpu": cpu, "memory": memory, "merges": spelled, "loss": loss}


def measured(name: str, job: Job) -> dict[str, Any]:
    """Train once, in a new process."""
    command = [sys.executable, "-m", "benchmarks.train", str(job.corpus), "--run", name]
    command += ["--size", str(job.size), "--threads", str(job.threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def rows(runs: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Write the table."""
    yield "| trainer | wall s | CPU s | MB | x the first's time | result |"
    yield "|---|---|---|---|---|---|"
    first: float | None = None
    spelled: str | None = None
    for name, samples in runs.items():
        wall = median(sample["wall"] for sample in samples)
        first = first or wall
        says = ""
        if name in BYTE_LEVEL:
            spelled = spelled or samples[0]["merges"]
            same = {sample["merges"] for sample in samples} == {spelled}
            says = "equal merges" if same else "other merges"
        if samples[0]["loss"] is not None:
            says = f"{samples[0]['loss']:.5f}"
        cpu = median(sample["cpu"] for sample in samples)
        memory = max(sample["memory"] for sample in samples)
        yield f"| {name} | {wall:.2f} | {cpu:.2f} | {memory:.0f} | {wall / first:.2f} | {says} |"


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure, or train once for a measurement."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--only", nargs="+", choices=TRAINERS, default=list(BYTE_LEVEL))
    parser.add_argument("--size", type=int, default=32_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--run", choices=TRAINERS, help=argparse.SUPPRESS)
    options = parser.parse_args(None if arguments is None else list(arguments))
    job = Job(options.corpus, options.size, options.threads)
    if options.run:
        print(json.dumps(one(options.run, job)))
        return
    missing = [name for name in options.only if find_spec(NAMES[name]) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
    runs: dict[str, list[dict[str, Any]]] = {
        name: [] for name in options.only if name not in missing
    }
    for _ in range(options.repeat):
        for name, samples in runs.items():
            samples.append(measured(name, job))
    print("\n".join(rows(runs)))


if __name__ == "__main__":
    main()
