"""A tokenizer crosses processes and threads and stays the same."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import protok

TEXTS = [f"The cat sat on mat {number}: naïve 東京 🐈" for number in range(200)]


def ids(tok: protok.Tokenizer) -> list[list[int]]:
    return tok.encode_batch(TEXTS, threads=2).tolist()


def test_pickle_and_copy(gpt2: protok.Tokenizer) -> None:
    for other in (pickle.loads(pickle.dumps(gpt2)), copy.deepcopy(gpt2), copy.copy(gpt2)):
        assert type(other) is protok.Tokenizer
        assert other.fingerprint == gpt2.fingerprint
        assert ids(other) == ids(gpt2)
        with pytest.raises(protok.SpecialTokenError):
            other.encode("<|endoftext|>")


def test_pickle_keeps_the_control_tokens(gpt2_files: dict[str, bytes]) -> None:
    tok = protok.Tokenizer(gpt2_files, special_tokens={"<|endoftext|>": 50256}, control_tokens=[])
    again = pickle.loads(pickle.dumps(tok))
    assert again.control_tokens == []
    assert again.count("<|endoftext|>", special="raise") == tok.count(
        "<|endoftext|>", special="raise"
    )


def test_pickle_of_a_rank_file(shared: Path) -> None:
    tok = protok.load(shared / "artifacts/tiktoken/cl100k_base.tiktoken", encoding="cl100k_base")
    again = pickle.loads(pickle.dumps(tok))
    assert ids(again) == ids(tok)
    assert again.fingerprint == tok.fingerprint


def test_pickle_of_a_sentencepiece_model(shared: Path) -> None:
    tok = protok.load(shared / "artifacts/t5-base/spiece.model")
    again = pickle.loads(pickle.dumps(tok))
    assert again.fingerprint == tok.fingerprint
    assert again.roles == tok.roles
    assert [t.content for t in again.control_tokens] == [t.content for t in tok.control_tokens]
    assert ids(again) == ids(tok)


def test_threads_share_one(gpt2: protok.Tokenizer) -> None:
    expected = ids(gpt2)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: [gpt2.encode(text).tolist() for text in TEXTS], range(8)))
    assert all(result == expected for result in results)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_child_processes(gpt2: protok.Tokenizer, method: str) -> None:
    expected = ids(gpt2)  # threads have run before the fork
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(_in_child, gpt2).result(timeout=60) == expected


def _in_child(tok: protok.Tokenizer) -> list[list[int]]:
    return tok.encode_batch(TEXTS, threads=2).tolist()
