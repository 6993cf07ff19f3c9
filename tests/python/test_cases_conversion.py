"""What broke in other software when tokenizers were converted or saved; named after the cases."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

import protok
from protok.probes import TEXTS

CODE = ("good morning", "def sq(v):\n    return v * v", "  a  b ", "\tx\n\n  y")


def with_config(tok: protok.Tokenizer, config: dict[str, object]) -> protok.Tokenizer:
    files = {"tokenizer.json": tok.to_files()["tokenizer.json"]}
    return protok.Tokenizer({**files, "tokenizer_config.json": json.dumps(config).encode()})


@pytest.mark.parametrize(
    "name", ["LlamaTokenizer", "LlamaTokenizerFast", "T5Tokenizer", "GemmaTokenizer", "Unheard"]
)
def test_case_L01(demo: protok.Tokenizer, tmp_path: Path, name: str) -> None:
    """A class name in a config does not replace the splitter that the file declares."""
    tok = with_config(demo, {"tokenizer_class": name, "legacy": True, "add_prefix_space": True})
    # transformers itself now leaves a byte-level file alone under the Llama names, and knows no
    # class of the last name; the others would run something else, which is reported.
    assert bool(tok.contradictions or tok.warnings) == (name in {"T5Tokenizer", "GemmaTokenizer"})
    tok.save(tmp_path / "saved")
    saved = protok.load(tmp_path / "saved")
    for text in (*CODE, *TEXTS):
        ids = demo.encode(text, special="parse").tolist()
        for other in (tok, saved):
            assert other.encode(text, special="parse").tolist() == ids
            assert other.decode(ids) == demo.decode(ids)
    for text in CODE:
        assert saved.decode(saved.encode(text)) == text
    assert saved.fingerprint == demo.fingerprint
    assert saved.warnings == []


@pytest.mark.parametrize("name", ["llama3.1", "qwen3", "gpt-oss"])
def test_case_L02(shared: Path, tmp_path: Path, name: str) -> None:
    """Saving and loading a large vocabulary from a folder repairs nothing and warns of nothing."""
    alone = (shared / "artifacts" / name / "tokenizer.json").read_bytes()
    tok = protok.load(alone)
    assert len(tok.vocab) > 100_000
    tok.save(tmp_path)
    again = protok.load(tmp_path)
    assert again.warnings == []
    assert again.fingerprint == tok.fingerprint
    for text in TEXTS:
        ids = tok.encode(text, special="parse").tolist()
        assert again.encode(text, special="parse").tolist() == ids


def test_case_L04(shared: Path, tmp_path: Path) -> None:
    """The splitter is carried, or named in a table; it is never guessed."""
    folder = shared / "artifacts"
    ranks = protok.load(folder / "llama3.1/tokenizer.model")
    listed = json.loads((folder / "llama3.1/tokenizer.json").read_bytes())
    ranks.save(tmp_path)
    written = json.loads((tmp_path / "tokenizer.json").read_bytes())
    pattern = listed["pre_tokenizer"]["pretokenizers"][0]["pattern"]
    assert written["pre_tokenizer"]["pretokenizers"][0]["pattern"] == pattern
    data = (folder / "gguf/ggml-vocab-deepseek-coder.gguf").read_bytes()
    key, name = b"tokenizer.ggml.pre", b"deepseek-coder"
    kind = struct.pack("<I", 8)  # a string
    known = key + kind + struct.pack("<Q", len(name)) + name
    assert data.count(known) == 1
    for other in (b"deepseek-codex", b"DEEPSEEK-CODER", b"default-------"):
        with pytest.raises(protok.ArtifactError) as caught:
            protok.load(data.replace(known, known[: -len(name)] + other))
        assert "tokenizer.ggml.pre" in str(caught.value.location)
        assert caught.value.value == other.decode()


def test_case_L07(shared: Path, tmp_path: Path) -> None:
    """The same ranks as a rank file, a list of merges, and both ways converted."""
    texts = ["wait ?", " odbor", "\U0001f37a", "1234567", "\t\t\t"]
    expected = [[11748, 949], [110107], [9468, 235, 118], [4513, 10961, 22], [573]]
    folder = shared / "artifacts/llama3.1"
    protok.convert(folder / "tokenizer.model", tmp_path / "listed")
    protok.convert(folder / "tokenizer.model", tmp_path / "copy.tiktoken")
    sources = [
        folder / "tokenizer.model",
        folder / "tokenizer.json",
        tmp_path / "listed",
        tmp_path / "copy.tiktoken",
    ]
    loaded = [protok.load(source) for source in sources]
    for tok in loaded:
        got = [tok.encode(text, add_special_tokens=False).tolist() for text in texts]
        assert got == expected
    for text in TEXTS:
        ids = [
            tok.encode(text, add_special_tokens=False, special="text").tolist() for tok in loaded
        ]
        assert ids[1:] == ids[:-1], text
