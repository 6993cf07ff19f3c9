"""The tables of transformers' classes are those of the release that is followed, as recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from protok import load

SOURCES = "crates/protok-core/src/formats/transformers"


@pytest.fixture
def recorded(root: Path) -> dict[str, Any]:
    """Return what the tool that records the goldens found in transformers."""
    path = root / "tests/golden/transformers_options.jsonl"
    with path.open(encoding="utf-8") as lines:
        head: dict[str, Any] = json.loads(next(lines))
    return head


def spelled(path: Path) -> str:
    """Return Rust source with its long strings in one line."""
    return re.sub(r"\\\n\s*", "", path.read_text("utf-8"))


def test_the_table_is_in_step(root: Path, recorded: dict[str, Any]) -> None:
    table = spelled(root / SOURCES / "models.rs")
    entries = re.findall(r'\("(\w+)", "([^"]+)"\)', table)
    registered = {kind: name for name, kinds in entries for kind in kinds.split()}
    assert registered == recorded["registered"]
    for name in ("misnamed", "unconfigured"):
        listed = re.search(rf'{name.upper()}: &str =\s+"([^"]+)"', table)
        assert listed is not None
        assert listed[1].split() == recorded[name]


def test_every_class_is_followed_or_refused(root: Path, recorded: dict[str, Any]) -> None:
    """A name that stands nowhere would be taken for one that transformers does not have."""
    source = spelled(root / SOURCES / "class.rs")
    head = source[: source.index("enum Named")]
    known = {name for text in re.findall(r'"([^"]*)"', head) for name in text.split()}
    classes = set(recorded["classes"])
    assert {"LlamaTokenizer", "WhisperTokenizer", "LayoutLMv3Tokenizer"} <= classes
    assert classes <= known


def test_the_tools_and_the_goldens_name_one_release(root: Path, recorded: dict[str, Any]) -> None:
    version = 'VERSION = "5.24.0"'
    for name in ("transformers_models", "transformers_goldens"):
        assert version in (root / f"tools/{name}.py").read_text("utf-8")
    assert "5.24.0" in (load.__doc__ or "")
    assert recorded["version"] == "5.24.0"
