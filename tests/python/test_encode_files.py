"""Bulk encoding of files: what it gives is what encoding each document gives."""

from __future__ import annotations

import gzip
import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_artifacts import load, wordpiece

import protok
from protok import corpus
from protok.corpus import Source

LINES = ["The cat sat.", "", "naïve 🐈 <|endoftext|>", "  two  blanks ", "नमस्ते दुनिया", "x" * 300]
KEPT = [line for line in LINES if line]


def rows(batches: Iterator[protok.Batch]) -> list[list[int]]:
    return [row for batch in batches for row in batch.tolist()]


def expected(tok: protok.Tokenizer, texts: list[str]) -> list[list[int]]:
    return tok.encode_batch(texts, special="text").tolist()


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def test_lines_are_documents(gpt2: protok.Tokenizer, text: Path) -> None:
    batches = list(gpt2.encode_files(text))
    assert rows(iter(batches)) == expected(gpt2, KEPT)
    assert batches[0].values.dtype == np.uint32
    assert batches[0].row_offsets.dtype == np.int64
    assert batches[0].row_offsets[-1] == len(batches[0].values)


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed(gpt2: protok.Tokenizer, text: Path, packed: str) -> None:
    path = text.with_name("b.txt" + packed)
    data = text.read_bytes()
    if packed == ".zst":
        import zstandard

        path.write_bytes(zstandard.compress(data))
    else:
        module = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}[packed]
        path.write_bytes(__import__(module).compress(data))
    assert rows(gpt2.encode_files(path)) == expected(gpt2, KEPT)


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "arrow"])
def test_records_and_tables(gpt2: protok.Tokenizer, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"c.{kind}"
    texts = [f"{line} {number}" for number in range(3000) for line in KEPT]
    column = pa.chunked_array([texts[:7000], texts[7000:]], pa.large_string())
    table = pa.table({"body": column, "n": range(len(texts))})
    if kind == "jsonl":
        path.write_text("".join(json.dumps({"body": one}) + "\n" for one in texts))
    elif kind == "parquet":
        pq.write_table(table, path, row_group_size=1000)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    found = rows(gpt2.encode_files(Source(files=(str(path),), field="body")))
    assert found == expected(gpt2, texts)
    with pytest.raises(protok.InputError, match="text"):
        list(gpt2.encode_files(path))


def test_tables_leave_out_nulls(gpt2: protok.Tokenizer, tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["one", None, "two"]}), tmp_path / "n.parquet")
    assert rows(gpt2.encode_files(tmp_path / "n.parquet")) == expected(gpt2, ["one", "two"])
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "i.parquet")
    with pytest.raises(protok.InputError, match="it has no text"):
        list(gpt2.encode_files(tmp_path / "i.parquet"))


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_and_threads_do_not_show(
    gpt2: protok.Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    block: int,
    threads: int,
) -> None:
    texts = [f"{line}{number}" for number in range(20) for line in KEPT]
    path = tmp_path / "d.txt"
    path.write_text("<|end|>".join(texts))
    monkeypatch.setattr(corpus, "BLOCK", block)
    batches = gpt2.encode_files(path, separator="<|end|>", threads=threads)
    assert rows(batches) == expected(gpt2, texts)


def test_several_files_in_order(gpt2: protok.Tokenizer, text: Path) -> None:
    for name in ("z.txt", "y.txt"):
        text.with_name(name).write_text(f"{name}\n")
    both: list[str | Path] = [text.with_name("z.txt"), str(text.with_name("?.txt"))]
    found = rows(gpt2.encode_files(both))
    assert found == expected(gpt2, ["z.txt", *KEPT, "y.txt", "z.txt"])


def test_whole_files_and_templates(text: Path) -> None:
    bert = load(
        wordpiece("the", "cat", "sat", ".", "[SEP]"),
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor={"type": "BertProcessing", "sep": ["[SEP]", 5], "cls": ["the", 1]},
    )
    whole = Source(files=(str(text),), split="whole")
    content = text.read_text(encoding="utf-8").rstrip("\n")
    assert rows(bert.encode_files(whole)) == [bert.encode(content).tolist()]
    plain = rows(bert.encode_files(whole, add_special_tokens=False))
    assert plain == [bert.encode(content, add_special_tokens=False).tolist()]


def test_control_tokens(gpt2: protok.Tokenizer, text: Path) -> None:
    parsed = rows(gpt2.encode_files(text, special="parse"))
    assert parsed == gpt2.encode_batch(KEPT, special="parse").tolist()
    with pytest.raises(protok.SpecialTokenError, match=r"a\.txt, documents\[1\]") as caught:
        list(gpt2.encode_files(text, special="raise"))
    assert caught.value.value == "<|endoftext|>"


def test_batches_keep_no_text(gpt2: protok.Tokenizer, text: Path) -> None:
    encoding = next(gpt2.encode_files(text))[0]
    assert encoding.tolist() == gpt2.encode(LINES[0]).tolist()
    for ask in (lambda: encoding.offsets, lambda: encoding.original, lambda: encoding.word_ids):
        with pytest.raises(protok.InputError, match="keep no texts"):
            ask()
    assert encoding.special_mask.tolist() == [0] * len(encoding)


def test_what_cannot_be_read(gpt2: protok.Tokenizer, text: Path) -> None:
    with pytest.raises(protok.InputError, match="There is no such file"):
        gpt2.encode_files(text.with_name("absent.txt"))
    with pytest.raises(protok.InputError, match="separator"):
        gpt2.encode_files(text, separator="")
    bad = text.with_name("bad.txt")
    bad.write_bytes(b"fine\nnot \xff fine\n")
    with pytest.raises(protok.InputError, match=r"bad\.txt, byte 9"):
        list(gpt2.encode_files(bad))
    replaced = Source(files=(str(bad),), encoding_errors="replace")
    assert rows(gpt2.encode_files(replaced)) == expected(gpt2, ["fine", "not \ufffd fine"])
    cut = text.with_name("cut.txt.gz")
    cut.write_bytes(gzip.compress(b"fine\n" * 1000)[:-10])
    with pytest.raises(protok.InputError, match="cannot be decompressed"):
        list(gpt2.encode_files(cut))


def test_nothing_goes_on_when_nobody_asks(
    gpt2: protok.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "BLOCK", 1000)
    path = tmp_path / "long.txt"
    path.write_text("a line\n" * 100_000)
    batches = gpt2.encode_files(path)
    assert sum(len(batch) for batch in itertools.islice(batches, 3)) > 0
    batches.close()  # type: ignore[attr-defined]
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("protok-reader")]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    program = """
import pathlib, re, sys, protok
tok = protok.load("protok:demo")
tokens = sum(len(batch.values) for batch in tok.encode_files(sys.argv[1]))
# Of this process alone: what getrusage tells begins with the peak of the parent.
status = pathlib.Path("/proc/self/status").read_text()
print(tokens, re.search(r"VmHWM:\\s+(\\d+)", status)[1])
"""
    peaks = []
    for megabytes in (64, 160):
        path = tmp_path / f"{megabytes}.txt"
        with path.open("w") as file:
            for _ in range(megabytes):
                file.write("the cat sat on the mat and looked\n" * (1_000_000 // 34))
        command = [sys.executable, "-c", program, str(path)]
        run = subprocess.run(command, capture_output=True, check=True, text=True)
        tokens, peak = map(int, run.stdout.split())
        assert tokens > 100_000 * megabytes
        peaks.append(peak)
        path.unlink()
    assert peaks[1] < peaks[0] + 30_000  # kilobytes
