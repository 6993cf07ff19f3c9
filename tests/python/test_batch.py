"""Batches: one flat buffer of ids with the rows' ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import protok

TEXTS = ["The cat", "", "sat on the mat", "🐈", " "]


def test_values_and_row_offsets(gpt2: protok.Tokenizer) -> None:
    batch = gpt2.encode_batch(TEXTS)
    single = [gpt2.encode(text).tolist() for text in TEXTS]
    assert batch.values.dtype == np.uint32
    assert batch.row_offsets.dtype == np.int64
    assert batch.row_offsets.tolist() == [0, 2, 2, 6, 9, 10]
    assert batch.values.tolist() == [id for row in single for id in row]
    assert batch.tolist() == [row.tolist() for row in batch] == single
    assert len(batch) == len(TEXTS)
    assert batch[2].tolist() == single[2]
    assert batch[-1].tolist() == single[-1]
    with pytest.raises(IndexError):
        batch[len(TEXTS)]


def test_buffers_are_read_only_and_not_copied(gpt2: protok.Tokenizer) -> None:
    batch = gpt2.encode_batch(TEXTS)
    for array in (batch.values, batch.row_offsets):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert memoryview(batch.values.data).readonly
    assert memoryview(batch.values.data).format == "I"
    assert np.shares_memory(batch.values, batch.values)
    values = batch.values
    del batch
    assert values.tolist()[:2] == [464, 3797]


def test_an_encoding_is_a_buffer(gpt2: protok.Tokenizer) -> None:
    view = memoryview(gpt2.encode("The cat"))
    assert (view.format, view.readonly, view.tolist()) == ("I", True, [464, 3797])


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_threads_change_nothing(gpt2: protok.Tokenizer, threads: int | None) -> None:
    texts = [f"{text} {number}" for number in range(50) for text in TEXTS]
    batch = gpt2.encode_batch(texts, threads=threads)
    assert batch.tolist() == [gpt2.encode(text).tolist() for text in texts]
    assert gpt2.count(texts, threads=threads).tolist() == [len(row) for row in batch]
    assert gpt2.decode_batch(batch, threads=threads) == texts
    assert gpt2.decode_batch(batch.tolist(), threads=threads) == texts


def test_empty_batch(gpt2: protok.Tokenizer) -> None:
    batch = gpt2.encode_batch([])
    assert (len(batch), batch.values.tolist(), batch.row_offsets.tolist()) == (0, [], [0])
    assert gpt2.count([]).tolist() == []


def test_one_text_is_not_a_batch(gpt2: protok.Tokenizer) -> None:
    with pytest.raises((TypeError, protok.InputError)):
        gpt2.encode_batch("The cat")


def test_bytes_and_pairs(gpt2: protok.Tokenizer) -> None:
    batch = gpt2.encode_batch([b"The cat", ("The", " cat")])
    assert batch.tolist() == [[464, 3797], [464, 3797]]
    assert batch[1].sequence_ids == [0, 1]


@pytest.mark.parametrize("bad", [b"not \xff text", "half \ud83d a character", 7])
def test_an_error_says_which_text_is_none(gpt2: protok.Tokenizer, bad: Any) -> None:
    with pytest.raises(protok.InputError) as caught:
        gpt2.encode_batch(["fine", bad])
    assert caught.value.location == "texts[1]"
    with pytest.raises(protok.InputError) as caught:
        gpt2.encode_batch([["fine"], ["fine", bad]], is_pretokenized=True)
    assert caught.value.location == "texts[1].words[1]"
    with pytest.raises(protok.InputError) as caught:
        gpt2.encode(bad)
    assert caught.value.location is None
