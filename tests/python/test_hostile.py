"""Texts that broke other tokenizers: they end, are exact, and come back byte for byte.

Nothing is timed. Each text is a megabyte that a stage in quadratic time would never finish.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import protok

MILLION = 1_000_000


def drawn(alphabet: str, count: int = MILLION) -> Callable[[], str]:
    return lambda: "".join(random.Random(11).choices(alphabet, k=count))


TEXTS: dict[str, Callable[[], str]] = {
    "one letter": lambda: "a" * MILLION,
    "one word": drawn("abcdefghijklmnopqrstuvwxyz"),
    "spaces": lambda: " " * MILLION,
    "spaces before a word": lambda: " " * MILLION + "a",
    "line ends": lambda: "\n" * MILLION,
    "spaces and line ends": lambda: " \n" * (MILLION // 2) + "x",
    "white space": drawn("\t\r\n "),
    "base64": lambda: base64.b64encode(random.Random(11).randbytes(MILLION)).decode(),
    "one digit": lambda: "7" * MILLION,
    "digits": drawn("0123456789"),
    "joined emoji": lambda: "\U0001f408\u200d\u2b1b" * (MILLION // 10),
    "one emoji": lambda: "\U0001f44d" * (MILLION // 4),
    "combining marks": lambda: "e" + "\u0301" * (MILLION // 2),
    "marks that reorder": lambda: "a" + "\u0323\u0307" * (MILLION // 4),
    "punctuation": drawn("!#%&*=-_."),
    "apostrophes": lambda: "'s" * (MILLION // 2),
    "han": drawn("东京大学的不是我有", MILLION // 3),
    "unassigned": lambda: "\U000e0fff" * (MILLION // 4),
    "nul": lambda: "\0" * MILLION,
}


# -- exact --------------------------------------------------------------------------------------


def exact(tok: protok.Tokenizer, text: str, expected: list[int]) -> None:
    encoding = tok.encode(text)
    assert len(encoding) == len(expected)
    assert encoding.tolist() == expected
    assert tok.count(text) == len(expected)
    assert tok.decode(expected) == text


@pytest.fixture(scope="module")
def gpt2_reference(
    gpt2_files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], list[int]]:
    pytest.importorskip("tokenizers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("gpt2")
    for name, content in gpt2_files.items():
        (folder / name).write_bytes(content)
    model = models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    reference = Tokenizer(model)
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return lambda text: list(reference.encode(text).ids)


@pytest.mark.parametrize("name", TEXTS)
def test_gpt2(
    gpt2: protok.Tokenizer, gpt2_reference: Callable[[str], list[int]], name: str
) -> None:
    text = TEXTS[name]()
    exact(gpt2, text, gpt2_reference(text))


@pytest.fixture(scope="module")
def cl100k_folder(shared: Path) -> Path:
    return shared / "artifacts/tiktoken"


@pytest.fixture(scope="module")
def cl100k_reference(cl100k_folder: Path) -> Callable[[str], list[int]]:
    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken.load import load_tiktoken_bpe

    encodings = json.loads((cl100k_folder / "encodings.json").read_text("utf-8"))
    described: dict[str, Any] = encodings["cl100k_base"]
    reference = tiktoken.Encoding(
        "cl100k_base",
        pat_str=described["pat_str"],
        mergeable_ranks=load_tiktoken_bpe(str(cl100k_folder / described["rank_file"])),
        special_tokens=described["special_tokens"],
    )
    return lambda text: list(reference.encode(text))


# The backtracking engine that tiktoken cuts with runs out of its stack on these.
TOO_MUCH_FOR_TIKTOKEN = {"spaces before a word"}


@pytest.mark.parametrize("name", TEXTS)
def test_cl100k(
    cl100k_folder: Path, cl100k_reference: Callable[[str], list[int]], name: str
) -> None:
    tok = protok.load(cl100k_folder / "cl100k_base.tiktoken", encoding="cl100k_base")
    text = TEXTS[name]()
    if name in TOO_MUCH_FOR_TIKTOKEN:
        exact(tok, text, tok.encode_batch([text])[0].tolist())
    else:
        exact(tok, text, cl100k_reference(text))


@pytest.mark.parametrize("data", [b"\xff", b"\xf0\x9f", bytes(range(256)), b"\xed\xa0\x80"])
def test_a_megabyte_of_stray_bytes(gpt2: protok.Tokenizer, data: bytes) -> None:
    data *= MILLION // len(data)
    assert gpt2.decode_bytes(gpt2.encode_bytes(data)) == data


def test_a_megabyte_of_random_bytes(gpt2: protok.Tokenizer) -> None:
    data = random.Random(11).randbytes(MILLION)
    assert gpt2.decode_bytes(gpt2.encode_bytes(data)) == data


# -- there and back -----------------------------------------------------------------------------

# Byte-level artifacts with a token for every byte and without a normalizer.
FILES = (
    *("gpt2", "llama3.1", "deepseek-v3", "gpt-oss"),
    *("tiktoken:r50k_base", "tiktoken:p50k_base", "tiktoken:cl100k_base", "tiktoken:o200k_base"),
)
LOADED: dict[str, protok.Tokenizer] = {}


def byte_level(shared: Path, name: str) -> protok.Tokenizer:
    if name not in LOADED:
        kind, _, encoding = name.partition(":")
        if kind == "tiktoken":
            path = shared / f"artifacts/tiktoken/{encoding}.tiktoken"
            LOADED[name] = protok.load(path, encoding=encoding)
        else:
            LOADED[name] = protok.load(shared / "artifacts" / name / "tokenizer.json")
    return LOADED[name]


def there_and_back(tok: protok.Tokenizer, text: str, data: bytes) -> None:
    ids = tok.encode(text, special="text", add_special_tokens=False)
    assert tok.decode(ids) == text
    assert tok.count(text) == len(ids)
    ids = tok.encode_bytes(data, special="text", add_special_tokens=False)
    assert tok.decode_bytes(ids) == data


STRAY = st.lists(
    st.binary(max_size=12)
    | st.text(max_size=12).map(str.encode)
    | st.sampled_from([b" ", b"\n", b"<|endoftext|>", b"<|end", b"'s", b"\xf0\x9f\x90", b"\xc3"]),
    max_size=8,
).map(b"".join)


@given(text=st.text(), data=STRAY)
@settings(max_examples=300, deadline=None)
def test_round_trip_of_gpt2_and_demo(
    gpt2: protok.Tokenizer, demo: protok.Tokenizer, text: str, data: bytes
) -> None:
    there_and_back(gpt2, text, data)
    there_and_back(demo, text, data)


@pytest.mark.parametrize("name", FILES)
@given(text=st.text(), data=STRAY)
@settings(max_examples=200, deadline=None)
def test_round_trip(shared: Path, name: str, text: str, data: bytes) -> None:
    there_and_back(byte_level(shared, name), text, data)


# -- markup that is vocabulary ------------------------------------------------------------------


def test_gemma_reads_html(shared: Path) -> None:
    """Gemma's vocabulary has HTML tags as ordinary added tokens: text may hold them."""
    tok = protok.load(shared / "artifacts/gemma3/tokenizer.json")
    html = "<h1>Cats</h1>\n<table><tr><td><b>Tom</b></td></tr></table>"
    encoding = tok.encode(html)
    for tag in ("<h1>", "<table>", "<b>"):
        assert tok.vocab[tag] in encoding.tolist()
    assert tok.decode(encoding, skip_special_tokens=True) == html
    with pytest.raises(protok.SpecialTokenError):
        tok.encode("<bos>")


def test_bytes_that_would_be_lost_are_refused(shared: Path) -> None:
    """A byte-level vocabulary that lacks bytes drops them from text, as its reference does."""
    tok = protok.load(shared / "artifacts/roberta-robbert-1k/tokenizer.json")
    assert tok.encode("\U0001f408", add_special_tokens=False).tolist() == []
    with pytest.raises(protok.InputError, match="lacks a token for some byte"):
        tok.encode_bytes(b"\xf0\x9f\x90\x88")
    with pytest.raises(protok.InputError, match="reads characters"):
        protok.load(shared / "artifacts/minilm-bert-uncased").encode_bytes(b"a")
