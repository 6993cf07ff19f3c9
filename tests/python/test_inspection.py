"""What a tokenizer is like: known facts of known tokenizers, and the screen that shows them."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
from rich.cells import cell_len

import protok

SCREEN = 50  # lines, for a tokenizer without many parts
SHOWN = (
    "gpt2",
    "llama3.1",
    "gemma3",
    "bert-base-cased",
    "t5-base",
    "deepseek-v3",
    "openai-gpt",
    "roberta-robbert-1k",
    "sentencepiece/mistral_v3.model",
    "t5-base/spiece.model",
    "mistral-tekken/tekken_240718.json",
    "rwkv-world/rwkv_vocab_v20230424.txt",
)


@cache
def inspect(path: Path) -> protok.Inspection:
    return protok.load(path).inspect()


def tokens(inspection: protok.Inspection, oddity: str) -> list[str]:
    return [token for _, token in inspection.oddities[oddity]]


def screen(source: str, columns: int) -> list[str]:
    result = subprocess.run(
        [sys.executable, "-c", "from protok.cli import main; main()", "inspect", source],
        capture_output=True,
        check=True,
        env={"COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"},
        timeout=300,
    )
    return result.stdout.decode().splitlines()


# -- the data -----------------------------------------------------------------------------------


def test_the_demo(demo: protok.Tokenizer) -> None:
    inspection = demo.inspect()
    assert sum(inspection.kinds.values()) == inspection.tokens == inspection.size == len(demo.vocab)
    assert inspection.kinds["byte"] == 128
    assert inspection.kinds["control"] == len(demo.control_tokens)
    assert inspection.contract.verdict == "lossless"
    assert inspection.contract.by_construction
    assert inspection.contract.any_bytes
    assert [token for _, token in inspection.oddities["idle_bytes"]] == [
        f"<0x{byte:02X}>" for byte in (0xC0, 0xC1, *range(0xF5, 0x100))
    ]
    rest = {name: found for name, found in inspection.oddities.items() if name != "idle_bytes"}
    assert not any(rest.values()), rest
    assert json.loads(json.dumps(inspection.to_dict()))["tokens"] == inspection.tokens
    assert demo.inspect(threads=1) == demo.inspect(threads=3) == inspection


def test_the_embedding(shared: Path, gpt2: protok.Tokenizer) -> None:
    rows = json.loads((shared / "corpus/worked/f_embedding_arithmetic.json").read_text("utf-8"))
    small = next(row for row in rows["rows"] if row["what"] == "gpt2 small table")
    inspection = gpt2.inspect()
    assert inspection.embedding_bytes(768, "i8") == small["value"]
    assert inspection.embedding_bytes(768, "bf16") == 2 * small["value"]
    for width, dtype in ((0, "bf16"), (8, "int7")):
        with pytest.raises(protok.InputError, match="embedding of width"):
            inspection.embedding_bytes(width, dtype)  # type: ignore[arg-type]


# -- what is known of real tokenizers -----------------------------------------------------------


def test_gpt2(shared: Path) -> None:
    inspection = inspect(shared / "artifacts/gpt2")
    # The 13 bytes that are not in UTF-8; every merge of the list is reached.
    assert len(inspection.oddities["idle_bytes"]) == 13
    assert inspection.oddities["unreachable"] == []
    assert inspection.contract.verdict == "lossless"
    assert inspection.kinds["byte"] == 128


def test_gemma(shared: Path) -> None:
    folder = shared / "artifacts/gemma3"
    inspection = inspect(folder)
    assert "<table>" in tokens(inspection, "markup")
    assert "<start_of_turn>" not in tokens(inspection, "markup")
    assert inspection.kinds["unused"] == 6242
    assert inspection.contract.verdict == "normalized"
    assert inspection.contract.normalizations == ("U+2581 as a blank",)
    assert inspection.longest_indentation == 31
    # ASCII has tokens, so its byte tokens are idle, but for the control characters it lacks.
    idle = tokens(inspection, "idle_bytes")
    assert "<0x41>" in idle
    assert "<0x00>" not in idle
    unreachable = tokens(inspection, "unreachable")
    assert "▁YYYY" in unreachable
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    for id, token in inspection.oddities["unreachable"]:
        text = token.replace("▁", " ")
        for probe in (text, f"a{text}", f"{text} a", f"a{text}.", f"{text}{text}"):
            assert id not in reference.encode(probe).ids, token


def test_t5(shared: Path) -> None:
    """Pieces that a better way to cut always beats, and control names that text spells."""
    folder = shared / "artifacts/t5-base"
    inspection = inspect(folder / "tokenizer.json")
    assert tokens(inspection, "unreachable") == ["▁Its", "▁mes"]
    control = tokens(inspection, "control_pieces")
    assert "</s>" in control
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spiece.model"))
    for id, token in inspection.oddities["unreachable"]:
        text = token.replace("▁", " ")
        for probe in (text, f"a{text} b", f"{text}{text}"):
            assert id not in reference.encode(probe).ids
            assert id not in processor.encode(probe)
    # SentencePiece never reads the spelling of a control piece as the piece.
    assert inspect(folder / "spiece.model").oddities["control_pieces"] == []


def test_bert(shared: Path) -> None:
    folder = shared / "artifacts/minilm-bert-uncased"
    inspection = inspect(folder)
    assert inspection.oddities["unreachable"] == []
    unseen = inspection.oddities["unseen"]
    # Punctuation is a piece of its own, so none continues a word.
    assert {"##!", "##)", "..."} <= {token for _, token in unseen}
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    for id, token in unseen:
        text = token.removeprefix("##")
        for probe in (text, f"a{text}", f"{text}a", f"a {text} b", f"one{text}s"):
            assert id not in reference.encode(probe).ids, token
    assert inspection.kinds["unused"] == 994
    assert inspection.oddities["control_pieces"] == []
    contract = inspection.contract
    assert contract.verdict == "lossy"
    assert {"lower case", "accents dropped"} <= set(contract.normalizations)
    assert {loss.stage for loss in contract.losses} == {"model", "pre-tokenizer"}


def test_llama2_and_its_byte_tokens(shared: Path) -> None:
    path = shared / "artifacts/sentencepiece/llama2_bpe_bytefallback.model"
    inspection = inspect(path)
    idle = tokens(inspection, "idle_bytes")
    assert {"<0x41>", "<0xC0>", "<0xFF>"} <= set(idle)
    assert "<0x0A>" not in idle
    assert inspection.kinds["byte"] == 256
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    everything = "".join(chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000)
    seen = set(processor.encode(everything[:200_000]))
    assert not seen & {id for id, _ in inspection.oddities["idle_bytes"]}


def test_deepseek_and_robbert(shared: Path) -> None:
    deepseek = inspect(shared / "artifacts/deepseek-v3")
    assert len(deepseek.control_tokens["written by the chat template"]) == 11
    assert all("fim" in token for token in tokens(deepseek, "markup"))
    robbert = inspect(shared / "artifacts/roberta-robbert-1k")
    holes = robbert.oddities["holes"]
    assert sum(last - first + 1 for first, last in holes) == robbert.size - robbert.tokens == 38_755
    assert robbert.contract.losses[0].cause == "drops what it has no token for"
    rwkv = inspect(shared / "artifacts/rwkv-world/rwkv_vocab_v20230424.txt")
    assert rwkv.oddities["holes"] == [(0, 0)]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("openai-gpt", {"word_end", "continuation", "character"}),
        ("bert-base-cased", {"word_start", "continuation", "character"}),
        ("toy/wordlevel.json", {"word"}),
        ("t5-base", {"whitespace_bound", "continuation", "character"}),
    ],
)
def test_kinds_of_words(shared: Path, name: str, kinds: set[str]) -> None:
    found = set(inspect(shared / "artifacts" / name).kinds)
    others = {"whitespace_bound", "word_start", "word_end", "word", "continuation"}
    assert found & {*others, "character"} >= kinds
    assert not found & (others - kinds)


# -- the screen ---------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 120])
def test_the_screen_of_the_demo(columns: int) -> None:
    lines = screen("protok:demo", columns)
    names = ["STAGES", "VOCABULARY", "ROUND TRIP", "SPECIAL TOKENS", "SIZE", "ODDITIES", "SOURCE"]
    assert [line.strip() for line in lines if line.strip() in names] == names
    assert max(map(cell_len, lines)) <= columns
    assert len(lines) <= SCREEN


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", SHOWN)
def test_one_screen(shared: Path, name: str, columns: int) -> None:
    lines = screen(str(shared / "artifacts" / name), columns)
    assert max(map(cell_len, lines[1:])) <= columns  # the first names the source
    assert len(lines) <= SCREEN + 2


def test_json_has_the_embedding() -> None:
    code = "from protok.cli import main; main()"
    arguments = ["inspect", "--json", "--width", "1024", "--dtype", "f32"]
    output = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, check=True
    ).stdout
    report: dict[str, Any] = json.loads(output)
    assert report["embedding"] == {"width": 1024, "dtype": "f32", "bytes": 16384 * 1024 * 4}
    assert report["contract"]["verdict"] == "lossless"
