"""Rank files whose pattern does not match all text: tiktoken encodes only what it matches."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import tiktoken

import protok

RANKS = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"  ": 257}


@pytest.mark.parametrize("pattern", [r"[^\s]+|~\s", r"[a-z]+", r"\p{N}{1,3}|\p{Lu}", r"a(?=b)|  "])
@pytest.mark.parametrize("text", ["", " ", "a b", "ab  AB 12345 ~ é!", "\n~\t東京 "])
def test_gaps_are_left_out(tmp_path: Path, pattern: str, text: str) -> None:
    path = tmp_path / "a.tiktoken"
    lines = (f"{base64.b64encode(token).decode()} {rank}" for token, rank in RANKS.items())
    path.write_text("\n".join(lines))
    tok = protok.load(path, pattern=pattern, special_tokens={})
    reference = tiktoken.Encoding("a", pat_str=pattern, mergeable_ranks=RANKS, special_tokens={})
    ids = reference.encode_ordinary(text)
    enc = tok.encode(text)
    assert enc.tolist() == ids
    assert tok.decode(ids) == reference.decode(ids)
    assert b"".join(enc.bytes(place) for place in range(len(enc))) == reference.decode_bytes(ids)
    assert tok.count(text) == len(ids)
    tok.save(tmp_path / "saved")
    assert protok.load(tmp_path / "saved").encode(text).tolist() == ids


def test_the_contract_knows_patterns_that_match_all_text(tmp_path: Path) -> None:
    path = tmp_path / "a.tiktoken"
    lines = (f"{base64.b64encode(token).decode()} {rank}" for token, rank in RANKS.items())
    path.write_text("\n".join(lines))
    for pattern, covers in (
        (r"\s+|\S+", True),
        (r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", True),
        (r"[^\x07]+", False),
        (r"\s+|\S+\s", False),
        (r"\S+|\s+(?!\S)", False),
    ):
        tok = protok.load(path, pattern=pattern, special_tokens={})
        assert tok.inspect().contract.by_construction == covers, pattern
    (loss,) = protok.load(path, pattern="[a-z]+", special_tokens={}).inspect().contract.losses
    assert (loss.stage, loss.cause) == ("pre-tokenizer", "drops what its pattern does not match")
