"""Columns of Arrow: read where they are, and refused where they are no texts."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import protok

TEXTS = ["The cat", "", "sat on the mat", "🐈 naïve", " "]


@pytest.mark.parametrize(
    "kind", ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]
)
def test_a_column_is_as_a_list(gpt2: protok.Tokenizer, kind: str) -> None:
    column = pa.array(TEXTS).cast(kind) if "string" in kind else pa.array(TEXTS).cast("binary")
    if kind in ("large_binary", "binary_view"):
        column = column.cast(kind)
    batch, expected = gpt2.encode_batch(column), gpt2.encode_batch(TEXTS)
    assert batch.tolist() == expected.tolist()
    assert batch[3].offsets.tolist() == expected[3].offsets.tolist()
    assert batch[3].text(0) == expected[3].text(0)


def test_slices_and_chunks(gpt2: protok.Tokenizer) -> None:
    texts = [f"{text} {number}" for number in range(40) for text in TEXTS]
    column = pa.chunked_array([pa.array(texts[:70]), pa.array([], "string"), pa.array(texts[70:])])
    for start, length in [(0, 200), (3, 0), (3, 64), (65, 20), (199, 1)]:
        part = column.slice(start, length)
        expected = gpt2.encode_batch(texts[start : start + length])
        assert gpt2.encode_batch(part, threads=2).tolist() == expected.tolist()
    assert gpt2.encode_batch(pa.array([], "string")).tolist() == []


def test_anything_with_a_stream(gpt2: protok.Tokenizer) -> None:
    class Series:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.chunked_array([pa.array(TEXTS)]).__arrow_c_stream__(requested_schema)

    assert gpt2.encode_batch(Series()).tolist() == gpt2.encode_batch(TEXTS).tolist()


def test_the_text_is_not_copied_and_stays_alive(gpt2: protok.Tokenizer) -> None:
    text = "The cat sat on the mat. " * 50_000
    column = pa.array([text])
    before = pa.total_allocated_bytes()
    batch = gpt2.encode_batch(column)
    assert pa.total_allocated_bytes() == before
    del column
    assert pa.total_allocated_bytes() >= len(text), "the batch holds the column's memory"
    assert batch[0].text(1) == " cat"
    del batch
    assert pa.total_allocated_bytes() < len(text)


def test_what_has_no_texts_is_refused(gpt2: protok.Tokenizer) -> None:
    with pytest.raises(protok.InputError, match="2 nulls"):
        gpt2.encode_batch(pa.array(["a", None, "b", None]))
    with pytest.raises(protok.InputError, match="int64"):
        gpt2.encode_batch(pa.array([1, 2]))
    with pytest.raises(protok.InputError, match="dictionary"):
        gpt2.encode_batch(pa.array(["a", "b", "a"]).dictionary_encode())
    with pytest.raises(protok.InputError) as caught:
        gpt2.encode_batch(pa.array([b"fine", b"\xff"]))
    assert str(caught.value.location).startswith("texts[1]")


def test_damaged_columns(gpt2: protok.Tokenizer) -> None:
    def column(ends: list[int], data: bytes, kind: str = "string") -> pa.Array:
        places = np.array(ends, np.int32 if kind == "string" else np.int64).tobytes()
        buffers = [None, pa.py_buffer(places), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.type_for_alias(kind), len(ends) - 1, buffers)

    assert gpt2.encode_batch(column([0, 3, 3], b"The")).tolist() == [[464], []]
    reached = 0
    for ends in ([0, 9], [-1, 2], [2, 1], [0, 2, -3], [0, 3, 2], [0, 9, 3]):
        for kind in ("string", "large_string"):
            try:
                damaged = column(ends, b"The", kind)
            except pa.ArrowInvalid:
                continue
            reached += 1
            with pytest.raises(protok.InputError, match="damaged"):
                gpt2.encode_batch(damaged)
    assert reached >= 4


def test_without_pyarrow_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import protok
class Series:
    def __arrow_c_stream__(self, requested_schema=None): ...
try:
    protok.load("protok:demo").encode_batch(Series())
except protok.InputError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "protok[arrow]" in ran.stdout
