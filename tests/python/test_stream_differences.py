"""What `docs/differences.md` says of other stream decoders is so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import protok

FFFD = "\ufffd"


def decode_stream(path: Path, ids: list[int]) -> list[str | None]:
    """Stream with tokenizers; a step that raises is the word `error`."""
    tokenizers = pytest.importorskip("tokenizers")
    reference = tokenizers.Tokenizer.from_file(str(path))
    stream = tokenizers.decoders.DecodeStream(skip_special_tokens=False)
    parts: list[str | None] = []
    for id in ids:
        try:
            parts.append(stream.step(reference, id))
        except Exception as error:  # noqa: BLE001  (it raises plain exceptions)
            return [*parts, "error" if "Invalid prefix" in str(error) else str(error)]
    return parts


def streamer(path: Path, ids: list[int]) -> list[str]:
    """Stream with transformers."""
    transformers = pytest.importorskip("transformers")
    numpy = pytest.importorskip("numpy")
    tok = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
    stream = transformers.TextIteratorStreamer(tok)
    for id in ids:
        stream.put(numpy.array([id]))
    stream.end()
    return [*stream]


def ours(tok: protok.Tokenizer, ids: list[int]) -> list[str]:
    stream = tok.stream()
    return [*(stream.push(id).text for id in ids), stream.finish().text]


@pytest.fixture
def llama_json(shared: Path) -> Path:
    return shared / "artifacts/llama3.1/tokenizer.json"


def encoded(tok: protok.Tokenizer, text: str) -> list[int]:
    return tok.encode(text, add_special_tokens=False).tolist()


def test_withheld(llama_json: Path, llama3: protok.Tokenizer) -> None:
    ids = encoded(llama3, f"a{FFFD}b c")
    assert ours(llama3, ids) == ["a", FFFD, "b", " c", ""]
    assert decode_stream(llama_json, ids) == ["a", None, f"{FFFD}b", " c"]


def test_lost(llama_json: Path, llama3: protok.Tokenizer) -> None:
    ids = encoded(llama3, "hi 🧠")[:-1]
    assert ours(llama3, ids) == ["hi", " ", "", FFFD]
    assert decode_stream(llama_json, ids) == ["hi", None, None]


def test_late(llama_json: Path, llama3: protok.Tokenizer) -> None:
    ids = encoded(llama3, "hi 🧠")
    assert ours(llama3, ids) == ["hi", " ", "", "🧠", ""]
    assert decode_stream(llama_json, ids) == ["hi", None, None, " 🧠"]


def gemma(shared: Path) -> tuple[Path, protok.Tokenizer, list[int]]:
    path = shared / "artifacts/gemma3/tokenizer.json"
    tok = protok.load(path)
    ids = [tok.vocab[token] for token in ("<0xC3>", "<0xA9>", "<0xFF>")]
    return path, tok, [*ids, *encoded(tok, "abc")]


def test_refused(shared: Path) -> None:
    path, tok, ids = gemma(shared)
    assert ours(tok, ids) == ["", "é", FFFD, "abc", ""]
    assert decode_stream(path, ids) == [None, "é", None, "error"]


def test_the_streamer_of_transformers(
    shared: Path, llama_json: Path, llama3: protok.Tokenizer
) -> None:
    path, tok, ids = gemma(shared)
    joined: Any = "".join(streamer(path, ids))
    assert joined == f"é{FFFD}{FFFD}abc"
    assert joined not in {tok.decode(ids), tok.decode(ids, errors="reference")}
    late = streamer(llama_json, encoded(llama3, "hi 🧠"))
    assert [text for text in late if text] == ["hi", " ", "🧠"]
    cut = streamer(llama_json, encoded(llama3, "hi 🧠")[:-1])
    assert [text for text in cut if text] == ["hi", " ", FFFD]
