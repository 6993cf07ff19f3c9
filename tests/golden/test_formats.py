"""What other files than tokenizer.json give equals what their own implementations made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gguf_files import every, unigram
from golden.records import (
    GGUF,
    RWKV,
    SENTENCEPIECE,
    TEKKEN,
    Differences,
    file_alone,
    inputs,
    records,
)

import protok


def roles(tok: protok.Tokenizer, *names: str) -> list[int]:
    """Return the ids of the tokens with these roles."""
    return [tok.vocab[tok.roles[name]] for name in names]


@pytest.mark.parametrize("name", SENTENCEPIECE)
def test_sentencepiece(shared: Path, name: str) -> None:
    tok = file_alone(shared, SENTENCEPIECE[name])
    texts = inputs(shared / "golden")
    differences = Differences()
    framed = 0
    for record in records(shared / "golden" / f"spm.{name}.jsonl"):
        case, text = record["id"], texts[record["id"]]
        # A control piece that a text spells is text, and nothing is added.
        for special in ("raise", "text"):
            encoding = tok.encode(text, special=special)
            differences.compare(case, f"ids, special={special}", encoding.tolist(), record["ids"])
        differences.compare(case, "pieces", encoding.tokens, record["pieces"])
        differences.compare(case, "norm", encoding.normalized, record.get("norm", text))
        decoded = tok.decode(record["ids"], errors="reference")
        differences.compare(case, "decode", decoded, record["decode"])
        if "\ufffd" not in record["decode"]:
            decoded = tok.decode(record["ids"])
            differences.compare(case, "decode, replacing", decoded, record["decode"])
        # SentencePiece adds them where its caller says so; protok tells which they are.
        if "bos_eos" in record:
            bos, eos = roles(tok, "bos", "eos")
            differences.compare(case, "bos_eos", [bos, *record["ids"], eos], record["bos_eos"])
            framed += 1
        if "bos_eos_error" in record:
            assert "bos" not in tok.roles
            framed += 1
    assert framed
    differences.check()


def test_tekken(shared: Path) -> None:
    tok = file_alone(shared, TEKKEN)
    texts = inputs(shared / "golden")
    differences = Differences()
    for record in records(shared / "golden/mistral-tekken.jsonl"):
        case, text = record["id"], texts[record["id"]]
        ids = tok.encode(text, special="text", add_special_tokens=False).tolist()
        differences.compare(case, "ids", ids, record["ids"])
        bos, eos = roles(tok, "bos", "eos")
        differences.compare(case, "bos_eos", [bos, eos], record["bos_eos"])
        whole = [bos, *record["ids"], eos]
        differences.compare(case, "decode_keep", tok.decode(whole), record["decode_keep"])
        skipped = tok.decode(whole, skip_special_tokens=True)
        differences.compare(case, "decode_skip", skipped, record["decode_skip"])
    differences.check()


def test_rwkv(shared: Path) -> None:
    tok = file_alone(shared, RWKV)
    texts = inputs(shared / "golden")
    differences = Differences()
    for record in records(shared / "golden/rwkv-world.jsonl"):
        case, text = record["id"], texts[record["id"]]
        encoding = tok.encode(text)
        differences.compare(case, "ids", encoding.tolist(), record["ids"])
        differences.compare(case, "decode", tok.decode(record["ids"]), record["decode"])
        # Every byte is in a token: the spans tile the text.
        edges = [edge for span in encoding.spans("byte").tolist() for edge in span]
        tiled = edges == sorted(edges) and edges[1:-1:2] == edges[2::2]
        differences.compare(case, "spans tile", tiled, True)  # noqa: FBT003
    differences.check()


def gguf_policy(kind: str) -> dict[str, Any]:
    return {"special": kind, "add_special_tokens": False}


@pytest.mark.parametrize("name", GGUF)
def test_gguf(shared: Path, name: str) -> None:
    tok = file_alone(shared, f"gguf/ggml-vocab-{name}.gguf")
    texts = inputs(shared / "golden")
    differences = Differences()
    for record in records(shared / "golden" / f"gguf.{name}.jsonl"):
        case, text = record["id"], texts[record["id"]]
        ids = tok.encode(text, **gguf_policy("text")).tolist()
        differences.compare(case, "ids", ids, record["ids"])
        parsed = tok.encode(text, **gguf_policy("parse")).tolist()
        expected = record.get("ids_parse_special", record["ids"])
        differences.compare(case, "ids_parse_special", parsed, expected)
        decoded = tok.decode(record["ids"], skip_special_tokens=True)
        differences.compare(case, "decode", decoded, record["decode"])
        kept = record.get("decode_parse_special", record["decode"])
        differences.compare(case, "decode_parse_special", tok.decode(expected), kept)
    differences.check()


@pytest.mark.parametrize("name", GGUF)
def test_the_cases_beside_the_gguf(shared: Path, name: str) -> None:
    """llama.cpp's own pairs of texts and ids."""
    tok = file_alone(shared, f"gguf/ggml-vocab-{name}.gguf")
    path = shared / "artifacts/gguf" / f"ggml-vocab-{name}.gguf"
    cases = Path(f"{path}.inp").read_text("utf-8").split("\n__ggml_vocab_test__\n")
    expected = Path(f"{path}.out").read_text("utf-8").split("\n")
    compared = 0
    for text, line in zip(cases, expected, strict=False):
        ids = tok.encode(text, **gguf_policy("text")).tolist()
        assert ids == [int(id) for id in line.split()], text
        compared += 1
    assert compared == len(cases) > 40


def test_pre_tokenizers_of_gguf(shared: Path) -> None:
    """Every pre-tokenizer name of llama.cpp, and its Unigram models, as release v0.5.0 has them."""
    recorded = records(Path(__file__).with_name("llama_cpp.jsonl"))
    made = every(shared / "artifacts")
    names = {name for record in recorded for name in record["files"]}
    assert names == {name for name in made if name.startswith(("pre-", "t5-"))}
    differences = Differences()
    for name in sorted(names):
        tok = protok.Tokenizer({"vocab.gguf": made[name]()})
        for record in recorded:
            if name in record["files"]:
                text, ids = record["text"], record["ids"]
                encoded = tok.encode(text, special="parse").tolist()
                differences.compare(name, repr(text), encoded, ids)
                decoded = tok.decode(ids)
                differences.compare(name, "decode", decoded, record.get("decode", text))
    differences.check()


def test_a_user_defined_token_that_llama_cpp_cuts_through(shared: Path) -> None:
    """It takes the first bytes of a dash for its start, though an apostrophe starts with them."""
    made = unigram(shared / "artifacts/albert/spiece.model")
    with pytest.raises(protok.ArtifactError, match="not ASCII"):
        protok.Tokenizer({"vocab.gguf": made})
