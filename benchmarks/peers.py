"""How each library is called: one function a library, which loads a vocabulary.

All give the ids of plain text without what a template would add. `one` and `batch` return Python
lists; `one_flat` and `batch_flat` the densest form there is (an array, a buffer), and `rows` turns
what `batch_flat` returned into one array for each input, when nobody looks at the clock.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import vocabularies
from benchmarks.vocabularies import VOCABULARIES

Rows = Callable[[Any], Iterable[Any]]


class UnsupportedError(Exception):
    """The library does not do that."""


@dataclass
class Peer:
    """A loaded tokenizer of some library, and the calls that it offers."""

    one: Callable[[str], Sequence[int]]
    batch: Callable[[list[str]], list[Any]] | None = None
    one_flat: Callable[[str], Any] | None = None
    batch_flat: Callable[[list[str]], Any] | None = None
    rows: Rows = list
    # ids and offsets of one text and of several: only the work, the result is not looked at
    one_offsets: Callable[[str], tuple[Any, Any]] | None = None
    batch_offsets: Callable[[list[str]], list[tuple[Any, Any]]] | None = None
    file: Callable[[str], Any] | None = None
    decode: Callable[[Any], str | bytes] | None = None  # from a list
    decode_array: Callable[[Any], str | bytes] | None = None
    stream: Callable[[list[int]], str] | None = None  # a token a call
    keep: Any = None


Load = Callable[[str, Path, int], Peer]
# name -> (distribution, modules to import, function)
PEERS: dict[str, tuple[str, tuple[str, ...], Load]] = {}


def peer(distribution: str, *modules: str) -> Callable[[Load], Load]:
    """Register a function as the way to load a library's tokenizer."""

    def add(load: Load) -> Load:
        PEERS[load.__name__.rstrip("_").replace("_", "-")] = (distribution, modules, load)
        return load

    return add


def load(name: str, vocabulary: str, data: Path, threads: int = 1) -> Peer:
    """Import a library, and load a vocabulary."""
    _, modules, function = PEERS[name]
    for module in modules:
        import_module(module)
    return function(vocabulary, data, threads)


def pins() -> dict[str, dict[str, str]]:
    """Return the versions of the peers, of what they need, and notes."""
    return tomllib.loads(Path(__file__).with_name("peers.toml").read_text("utf-8"))


def _ranks(vocabulary: str, data: Path) -> str:
    if not VOCABULARIES[vocabulary].ranks:
        raise UnsupportedError(vocabulary)
    return str(vocabularies.rank_file(data, vocabulary))


def _model(vocabulary: str, data: Path) -> str:
    if not VOCABULARIES[vocabulary].model:
        raise UnsupportedError(vocabulary)
    return str(vocabularies.model_file(data, vocabulary))


def _json(vocabulary: str, data: Path) -> str:
    return str(vocabularies.json_file(data, vocabulary))


def _text(path: str) -> str:
    return Path(path).read_text("utf-8")


def _pieces(ids: Any, ends: Any) -> list[Any]:
    """Cut flat ids by offsets, or by lengths."""
    ends = np.asarray(ends, np.int64)
    if not len(ends) or ends[0] != 0 or ends[-1] != len(ids):
        ends = np.concatenate(([0], np.cumsum(ends)))
    return [ids[start:end] for start, end in pairwise(ends)]


def _buffers(result: tuple[Any, Any]) -> list[Any]:
    return _pieces(np.frombuffer(result[0], np.uint32), np.frombuffer(result[1], np.uint64))


@peer("protok", "protok")
def protok(vocabulary: str, data: Path, threads: int) -> Peer:
    import protok as library

    encoding = VOCABULARIES[vocabulary].ranks
    if encoding and vocabulary != "gpt2":
        tok = library.load(_ranks(vocabulary, data), encoding=encoding)
    else:
        tok = library.load(_json(vocabulary, data))
    encode, encode_batch = tok.encode, tok.encode_batch
    plain: dict[str, Any] = {"add_special_tokens": False, "special": "parse"}

    def one_offsets(text: str) -> tuple[Any, Any]:
        encoding = encode(text, offsets=True, **plain)
        return encoding.ids, encoding.offsets

    def rows(batch: Any) -> list[Any]:
        return _pieces(batch.values, batch.row_offsets)

    def stream(ids: list[int]) -> str:
        running = tok.stream()
        parts = [running.push(id).text for id in ids]
        return "".join(parts) + running.finish().text

    return Peer(
        lambda text: encode(text, **plain).tolist(),
        lambda texts: encode_batch(texts, threads=threads, **plain).tolist(),
        lambda text: encode(text, **plain).ids,
        lambda texts: encode_batch(texts, threads=threads, **plain),
        rows,
        one_offsets,
        lambda texts: [one_offsets(text) for text in texts],
        lambda path: encode(Path(path).read_bytes(), **plain).ids,
        decode=tok.decode,
        decode_array=tok.decode,
        stream=stream,
    )


@peer("tokenizers", "tokenizers")
def tokenizers(vocabulary: str, data: Path, threads: int) -> Peer:
    from tokenizers import Tokenizer
    from tokenizers.decoders import DecodeStream

    tok = Tokenizer.from_file(_json(vocabulary, data))
    fast = tok.encode_batch_fast

    def one_offsets(text: str) -> tuple[Any, Any]:
        encoding = tok.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def batch_offsets(texts: list[str]) -> list[tuple[Any, Any]]:
        found = tok.encode_batch(texts, add_special_tokens=False)
        return [(encoding.ids, encoding.offsets) for encoding in found]

    def stream(ids: list[int]) -> str:
        running = DecodeStream(skip_special_tokens=False)
        return "".join(running.step(tok, id) or "" for id in ids)

    return Peer(
        lambda text: tok.encode(text, add_special_tokens=False).ids,
        lambda texts: [found.ids for found in fast(texts, add_special_tokens=False)],
        one_offsets=one_offsets,
        batch_offsets=batch_offsets,
        decode=lambda ids: tok.decode(ids, skip_special_tokens=False),
        stream=stream,
        keep=tok,
    )


@peer("tiktoken", "tiktoken")
def tiktoken(vocabulary: str, data: Path, threads: int) -> Peer:
    import tiktoken as library

    _ranks(vocabulary, data)
    tok = library.get_encoding(VOCABULARIES[vocabulary].ranks)
    return Peer(
        tok.encode_ordinary,
        lambda texts: tok.encode_ordinary_batch(texts, num_threads=threads),
        lambda text: tok.encode_to_numpy(text, disallowed_special=()),
        decode=tok.decode,
    )


@peer("sentencepiece", "sentencepiece")
def sentencepiece(vocabulary: str, data: Path, threads: int) -> Peer:
    import sentencepiece as library

    tok: Any = library.SentencePieceProcessor(model_file=_model(vocabulary, data))

    def one_offsets(text: str) -> tuple[Any, Any]:
        found = tok.encode(text, out_type="offset_mapping")
        return found["ids"], found["offsets"]

    return Peer(
        tok.encode,
        lambda texts: tok.encode(texts, num_threads=threads),
        lambda text: tok.encode(text, out_type="numpy"),
        lambda texts: tok.encode(texts, out_type="numpy", num_threads=threads),
        one_offsets=one_offsets,
        batch_offsets=lambda texts: [one_offsets(text) for text in texts],
        decode=tok.decode,
    )


@peer("gigatoken", "gigatoken", "awkward")
def gigatoken(vocabulary: str, data: Path, threads: int) -> Peer:
    import gigatoken as library

    if vocabulary in ("cl100k", "o200k"):
        tok = library.Tokenizer.from_tiktoken(_ranks(vocabulary, data))
    else:
        tok = library.Tokenizer.from_json(_text(_json(vocabulary, data)))
    parallel = None if threads > 1 else False

    def rows(array: Any) -> list[Any]:
        layout = array.layout
        return _pieces(np.asarray(layout.content.data), np.asarray(layout.offsets.data))

    return Peer(
        lambda text: tok.encode(text).tolist(),
        lambda texts: tok.encode_batch_list(texts, parallel=parallel),
        tok.encode,
        lambda texts: tok.encode_batch(texts, parallel=parallel),
        rows,
        file=lambda path: tok.encode_files(library.TextFileSource([path]), parallel=parallel),
        decode=tok.decode,
        decode_array=tok.decode,
    )


def _fastokens_like(native: Any, vocabulary: str, data: Path) -> Peer:
    tok = native.Tokenizer.from_file(_json(vocabulary, data))

    def stream(ids: list[int]) -> str:
        running = native.DecodeStream(skip_special_tokens=False)
        return "".join(running.step(tok, id) or "" for id in ids)

    return Peer(
        lambda text: tok.encode(text).ids,
        lambda texts: [found.ids for found in tok.encode_batch(texts)],
        lambda text: np.frombuffer(tok.encode_batch_flat([text])[0], np.uint32),
        tok.encode_batch_flat,
        _buffers,
        decode=tok.decode,
        stream=stream,
    )


@peer("fastokens", "fastokens")
def fastokens(vocabulary: str, data: Path, threads: int) -> Peer:
    import fastokens as library

    return _fastokens_like(library._native, vocabulary, data)


@peer("snaptokens", "snaptokens")
def snaptokens(vocabulary: str, data: Path, threads: int) -> Peer:
    import snaptokens as library

    return _fastokens_like(library._native, vocabulary, data)


@peer("toktok-rs", "toktok")
def toktok(vocabulary: str, data: Path, threads: int) -> Peer:
    import toktok as library

    if vocabulary not in ("cl100k", "o200k"):
        raise UnsupportedError(vocabulary)
    tok = library._encoding(VOCABULARIES[vocabulary].ranks)
    return Peer(
        tok.encode_ordinary,
        lambda texts: [tok.encode_ordinary(text) for text in texts],
        tok.encode_to_numpy,
        lambda texts: tok.encode_batch_to_numpy(texts, threads=threads),
        lambda result: _pieces(*result),
        lambda text: tok.encode_with_offsets(text, unit="char"),
        lambda texts: [tok.encode_with_offsets(text, unit="char") for text in texts],
        decode=tok.decode,
    )


@peer("quicktok-v1", "quicktok")
def quicktok(vocabulary: str, data: Path, threads: int) -> Peer:
    import quicktok as library

    names = {"cl100k": "cl100k_base", "o200k": "o200k_base", "llama3": "llama3", "qwen3": "qwen3"}
    if vocabulary not in names:
        raise UnsupportedError(vocabulary)
    tok = library.get_encoding(names[vocabulary])
    return Peer(
        tok.encode_ordinary,
        lambda texts: [tok.encode_ordinary(text) for text in texts],
        lambda text: tok.encode_batch([text])[0],
        tok.encode_batch,
        lambda result: _pieces(*result),
        decode=tok.decode,
    )


@peer("tuetoken", "tuetoken")
def tuetoken(vocabulary: str, data: Path, threads: int) -> Peer:
    from tuetoken import Tokenizer

    tok = Tokenizer(_json(vocabulary, data))

    def rows(result: Any) -> list[Any]:
        if isinstance(result, dict):
            ends = result["offsets"] if "offsets" in result else result["lengths"]
            return _pieces(result["data"], ends)
        return _pieces(*result)

    return Peer(
        tok.encode_ordinary,
        lambda texts: tok.encode_ordinary_batch(texts, num_threads=threads),
        lambda text: np.frombuffer(tok.encode_to_bytes(text), np.uint32),
        lambda texts: tok.encode_ordinary_to_buffer(texts, num_threads=threads),
        rows,
        tok.encode_with_offsets,
        lambda texts: [tok.encode_with_offsets(text) for text in texts],
        decode=tok.decode,
        decode_array=tok.decode_array,
    )


@peer("tokie", "tokie")
def tokie(vocabulary: str, data: Path, threads: int) -> Peer:
    import tokie as library

    tok = library.Tokenizer.from_json(_json(vocabulary, data))
    plain = {"add_special_tokens": False}

    def one_offsets(text: str) -> tuple[Any, Any]:
        encoding = tok.encode_with_offsets(text, **plain)
        return encoding.ids, encoding.offsets

    return Peer(
        lambda text: tok.encode(text, **plain).ids,
        lambda texts: [found.ids for found in tok.encode_batch(texts, **plain)],
        lambda text: tok.encode_batch_flat([text], **plain)[0],
        lambda texts: tok.encode_batch_flat(texts, **plain),
        lambda result: _pieces(*result),
        one_offsets,
        lambda texts: [one_offsets(text) for text in texts],
        lambda path: tok.encode_files([path]),
        decode=tok.decode,
    )


@peer("splintr-rs", "splintr")
def splintr(vocabulary: str, data: Path, threads: int) -> Peer:
    import splintr as library

    tok = library.from_json(_json(vocabulary, data))
    # A batch is given what the template adds: known by the ids of a text with and without.
    with_them, bare = list(tok.encode("a")), list(tok.encode_raw("a"))
    before = next((at for at in range(len(with_them)) if with_them[at:][: len(bare)] == bare), 0)
    after = len(with_them) - len(bare) - before

    def rows(result: Any) -> list[Any]:
        return [row[before : len(row) - after] for row in _buffers(result)]

    return Peer(
        tok.encode_raw,
        lambda texts: [tok.encode_raw(text) for text in texts],
        None,
        tok.encode_batch_flat,
        rows,
        decode=tok.decode,
    )


@peer("nanotoken", "nanotoken")
def nanotoken(vocabulary: str, data: Path, threads: int) -> Peer:
    import nanotoken as library

    if vocabulary != "bert":
        raise UnsupportedError(vocabulary)
    tok = library.Tokenizer.from_json(_text(_json(vocabulary, data)))
    parallel = None if threads > 1 else False
    plain: dict[str, Any] = {"add_special_tokens": False}
    return Peer(
        lambda text: tok.encode(text, **plain).tolist(),
        lambda texts: tok.encode_batch_list(texts, parallel=parallel, **plain),
        lambda text: tok.encode(text, **plain),
        lambda texts: tok.encode_batch(texts, parallel=parallel, **plain),
        lambda result: _pieces(result.ids, result.offsets),
        file=lambda path: tok.encode_files(path, parallel=parallel, **plain),
        decode=tok.decode,
    )


@peer("kitoken", "kitoken")
def kitoken(vocabulary: str, data: Path, threads: int) -> Peer:
    from kitoken import Kitoken

    if vocabulary in ("cl100k", "o200k"):
        tok = Kitoken.from_tiktoken_file(_ranks(vocabulary, data))
    else:
        tok = Kitoken.from_tokenizers_file(_json(vocabulary, data))
    return Peer(
        lambda text: tok.encode(text, encode_specials=False),
        lambda texts: tok.encode_all(texts, encode_specials=False),
        decode=tok.decode,
    )


@peer("bpe-openai", "bpe_openai")
def bpe_openai(vocabulary: str, data: Path, threads: int) -> Peer:
    import bpe_openai as library

    if vocabulary not in ("cl100k", "o200k"):
        raise UnsupportedError(vocabulary)
    tok = library.get_encoding(VOCABULARIES[vocabulary].ranks)
    return Peer(
        tok.encode_ordinary,
        lambda texts: tok.encode_ordinary_batch(texts, num_threads=threads),
        decode=tok.decode,
    )


@peer("rs-bpe", "rs_bpe")
def rs_bpe(vocabulary: str, data: Path, threads: int) -> Peer:
    import rs_bpe as library

    if vocabulary not in ("cl100k", "o200k"):
        raise UnsupportedError(vocabulary)
    tok = getattr(library.openai, VOCABULARIES[vocabulary].ranks)()
    return Peer(tok.encode, lambda texts: tok.encode_batch(texts)[0], decode=tok.decode)


@peer("iree-tokenizer", "iree.tokenizer")
def iree(vocabulary: str, data: Path, threads: int) -> Peer:
    from iree.tokenizer import Tokenizer

    if vocabulary in ("cl100k", "o200k"):
        ranks = _ranks(vocabulary, data)
        tok = Tokenizer.from_tiktoken(ranks, encoding=VOCABULARIES[vocabulary].ranks)
    else:
        tok = Tokenizer.from_file(_json(vocabulary, data))
    return Peer(tok.encode, tok.encode_batch, tok.encode_to_array, decode=tok.decode)


@peer("flash-tokenizer", "flash_tokenizer")
def flash_tokenizer(vocabulary: str, data: Path, threads: int) -> Peer:
    from flash_tokenizer import BertTokenizerFlash

    if vocabulary != "bert":
        raise UnsupportedError(vocabulary)
    path = Path(_json(vocabulary, data)).with_name("vocab.txt")
    tok = BertTokenizerFlash(str(path), do_lower_case=True, model_max_length=1 << 30)

    def encode(texts: list[str]) -> list[Any]:
        found = tok(texts, padding="do_not_pad", max_length=1 << 30, add_special_tokens=True,
                    return_token_type_ids=False, return_attention_mask=False)  # fmt: skip
        return [row[1:-1] for row in found["input_ids"]]

    return Peer(lambda text: encode([text])[0], encode)
