"""``as_loaded_by="transformers"`` gives what transformers 5.24.0 gave for whole folders."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import protok

ARTIFACTS = (
    "albert",
    "bert-base-cased",
    "claude-old",
    "clip",
    "deepseek-v3",
    "gemma3",
    "gpt-oss",
    "gpt2",
    "llama3.1",
    "minilm-bert-uncased",
    "mistral-v0.1",
    "openai-gpt",
    "qwen3",
    "roberta-robbert-1k",
    "t5-base",
    "xlmr-like-1k",
)
OPTIONS = Path(__file__).with_name("transformers_options.jsonl")


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


@cache
def inputs(golden: Path) -> dict[str, str]:
    return {record["id"]: record["text"] for record in records(golden / "inputs.jsonl")}


@cache
def differences(golden: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what differs from the file alone, by artifact and input."""
    found = records(golden / "transformers5_diff.jsonl")
    assert len(found) == 246
    assert not any("load_error" in record for record in found)
    return {(record["artifact"], record["id"]): record for record in found}


@pytest.mark.parametrize("name", ARTIFACTS)
def test_folders(shared: Path, name: str) -> None:
    golden = shared / "golden"
    tok = protok.load(shared / "artifacts" / name, as_loaded_by="transformers")
    assert tok.contradictions == []
    wrong = []
    for record in records(golden / f"{name}.jsonl"):
        text = inputs(golden)[record["id"]]
        change = differences(golden).get((name, record["id"]), {})
        golden_ids = record.get("special", {}).get("ids", record["ids"])
        for what, got, expected in (
            ("ids", tok.encode(text, special="parse").tolist(), change.get("ids", golden_ids)),
            (
                "ids_plain",
                tok.encode(text, special="parse", add_special_tokens=False).tolist(),
                change.get("ids_plain", record["ids"]),
            ),
            (
                "decode",
                tok.decode(golden_ids, errors="reference"),
                change.get("decode_of_golden_ids", record["decode"]),
            ),
            (
                "decode_skip",
                tok.decode(golden_ids, errors="reference", skip_special_tokens=True),
                change.get("decode_of_golden_ids_skip", record["decode_skip"]),
            ),
        ):
            if got != expected:
                wrong.append((record["id"], what, got, expected))
    assert not wrong, f"{len(wrong)} differ, the first: {wrong[0]}"


@pytest.mark.parametrize("name", ARTIFACTS)
def test_a_folder_is_warned_about_where_it_differs(shared: Path, name: str) -> None:
    differs = {artifact for artifact, _ in differences(shared / "golden")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tok = protok.load(shared / "artifacts" / name)
    assert [warning.category for warning in caught] == [protok.ArtifactWarning] * (name in differs)
    assert bool(tok.contradictions) == (name in differs)
    for warning in caught:
        assert "as_loaded_by=" in str(warning.message)
        assert all(found.component in str(warning.message) for found in tok.contradictions)
    alone = protok.load((shared / "artifacts" / name / "tokenizer.json").read_bytes())
    assert tok.fingerprint == alone.fingerprint


def folders() -> list[dict[str, Any]]:
    """Return the folders of the options' goldens, each with its tokenizer.json."""
    head, *found = records(OPTIONS)
    assert head["version"] == "5.24.0"
    bases = [record["tokenizer"] for record in found if "tokenizer" in record]
    for record in found:
        record.setdefault("texts", head["texts"])
        record["tokenizer"] = bases[record["base"]] if "base" in record else record["tokenizer"]
    return found


def files(record: dict[str, Any]) -> dict[str, bytes]:
    named = {"tokenizer.json": record["tokenizer"], **record["files"]}
    return {name: json.dumps(content).encode() for name, content in named.items()}


@pytest.mark.parametrize("record", folders(), ids=lambda record: record["name"])
def test_options(record: dict[str, Any]) -> None:
    if "load_error" in record:
        with pytest.raises(protok.ArtifactError, match="transformers"):
            protok.Tokenizer(files(record), as_loaded_by="transformers")
        return
    tok = protok.Tokenizer(files(record), as_loaded_by="transformers")
    for text, result in zip(record["texts"], record["results"], strict=True):
        ids = tok.encode(text, special="parse").tolist()
        assert ids == result["ids"], text
        plain = tok.encode(text, special="parse", add_special_tokens=False)
        assert plain.tolist() == result["plain"], text
        assert tok.encode(text, "b", special="parse").tolist() == result["pair"], text
        assert tok.decode(ids, errors="reference") == result["decode"], text
        skipped = tok.decode(ids, errors="reference", skip_special_tokens=True)
        assert skipped == result["skip"], text


@pytest.mark.parametrize("record", folders(), ids=lambda record: record["name"])
def test_what_makes_no_difference_is_no_contradiction(record: dict[str, Any]) -> None:
    """Where ids or text differ there is a contradiction; the file decides in any case."""
    tok = protok.Tokenizer(files(record))
    alone = protok.Tokenizer({"tokenizer.json": files(record)["tokenizer.json"]})
    assert tok.fingerprint == alone.fingerprint
    if "load_error" in record:
        assert any("would be refused" in note for note in tok.warnings)
        return
    for text, result in zip(record["texts"], record["results"], strict=True):
        ids = alone.encode(text, special="parse").tolist()
        pair = alone.encode(text, "b", special="parse").tolist()
        decoded = alone.decode(result["ids"], errors="reference", unknown="skip")
        if (ids, pair, decoded) != (result["ids"], result["pair"], result["decode"]):
            assert tok.contradictions, text
