"""Data flows one way: a module imports only from the layers below it, in both languages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PYTHON_LAYERS = {
    "errors": 0,
    "_core": 1,
    "remote": 1,
    "spec": 2,
    "sources": 2,
    "corpus": 2,
    "bulk": 3,
    "baselines": 2,
    "trace": 2,
    "probes": 0,
    "saving": 3,
    "snapshots": 3,
    "stream": 2,
    "budget": 3,
    "chat": 3,
    "tokenizer": 4,
    "training": 5,
    "conversion": 5,
    "inspection": 2,
    "cli": 9,
}
# Inside the command line: what the verbs share, the verbs, the app.
CLI_LAYERS = {
    "terminal": 0,
    "encode": 1,
    "decode": 1,
    "inspect": 2,
    "trace": 1,
    "convert": 1,
    "chat": 2,
    "count": 4,
    "where": 3,
    "calibrate": 3,
    "watching": 1,
    "training_screen": 2,
    "train": 3,
    "count_words": 4,
    "app": 5,
}

BUDGET_LAYERS = {
    "conversation": 0,
    "cut": 0,
    "where": 0,
    "calibration": 1,
    "methods": 1,
}
# Inside chat: marks and bounds, the sandbox, the caller's data, rendering, the result.
CHAT_LAYERS = {
    "provenance": 0,
    "limits": 1,
    "formatting": 2,
    "generator": 2,
    "methods": 2,
    "json_text": 2,
    "inputs": 2,
    "filters": 3,
    "environment": 4,
    "rendering": 5,
    "result": 6,
    "audit": 7,
    "mistral": 8,
    "conversation": 9,
}
# Inside training: the recipe, its file, the corpus, the trainers, what they gave.
TRAINING_LAYERS = {
    "recipe": 0,
    "presets": 1,
    "artifact": 1,
    "learners": 1,
    "counting": 2,
    "recipe_file": 2,
    "report": 3,
    "run": 4,
    "steps": 5,
}
INSIDE = {
    "cli": CLI_LAYERS,
    "budget": BUDGET_LAYERS,
    "chat": CHAT_LAYERS,
    "training": TRAINING_LAYERS,
}

# Facts and tools below the stages; `pattern` is the regular expressions that three stages use.
BELOW = {"error", "memory", "text", "vocab", "spec", "pattern"}
STAGES = {"normalize", "pretokenize", "model", "postprocess", "added_tokens", "decode"}
ENCODE = BELOW | STAGES | {"encoding", "parallel"}
RUST_LAYERS: dict[str, set[str]] = {
    "error": set(),
    "memory": set(),
    "text": {"error"},
    "spec": {"error", "text"},
    "vocab": {"error", "memory", "text", "spec"},
    "pattern": {"error", "text", "spec"},
    "parallel": {"error"},
    "encoding": {"error"},
    "labels": {"error"},
    "formats": {"error", "text", "vocab", "spec"},
    # Stages do not import one another, but for what added tokens are: tokens that are also
    # looked for in the normalized text, and whose content decoding takes as it is. A SentencePiece
    # model may turn decoded text back by the rules of its normalizer.
    **dict.fromkeys(STAGES, BELOW),
    "added_tokens": BELOW | {"normalize"},
    "decode": BELOW | {"added_tokens", "normalize"},
    "pipeline": ENCODE,
    "stream": {"error", "decode", "pipeline"},
    "offsets": {"error", "text", "encoding", "labels", "pipeline"},
    "trace": ENCODE | {"pipeline"},
    "inspect": ENCODE | {"pipeline"},
    "snapshot": ENCODE | {"formats", "pipeline"},
    "train": BELOW | STAGES | {"parallel"},
}
# Names that lib.rs re-exports, and the module each is from.
RUST_NAMES = {"Error": "error", "ErrorKind": "error", "Result": "error", "Spec": "spec"}


def python_edges(root: Path) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    package = root / "python/protok"
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package).with_suffix("").parts
        if module[-1] == "__init__":
            continue  # it re-exports, whatever the layer
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: a relative import"
                names = [node.module or ""]
                if names[0] in {"protok", "protok.cli"}:
                    names = [f"{names[0]}.{alias.name}" for alias in node.names]
            else:
                continue
            for name in names:
                parts = tuple(name.split("."))
                if parts[0] == "protok":
                    yield module, parts[1:]


def test_python_layers(root: Path) -> None:
    edges = list(python_edges(root))
    assert len(edges) > 20
    for module, target in edges:
        if target[0].startswith("__"):
            continue  # protok.__version__
        assert module[0] in PYTHON_LAYERS, f"{module[0]} has no layer: give it one"
        assert target[0] in PYTHON_LAYERS, f"{module} imports {target}, which has no layer"
        if module[0] == target[0] and (inside := INSIDE.get(module[0])):
            if len(target) > 1 and target[1] in inside:
                assert inside[target[1]] < inside[module[1]], f"{module} -> {target}"
            continue
        assert PYTHON_LAYERS[target[0]] < PYTHON_LAYERS[module[0]], f"{module} -> {target}"


def rust_edges(source: str) -> set[str]:
    """Name the modules of the crate that a Rust source mentions outside comments and tests."""
    source = source.partition("#[cfg(test)]")[0]
    source = re.sub(r"//[^\n]*", "", source)
    names = set(re.findall(r"\bcrate::(\w+)", source))
    for group in re.findall(r"\bcrate::\{((?:[^{}]|\{[^{}]*\})*)\}", source):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\{[^{}]*\}", "", group)))
    return {RUST_NAMES.get(name, name) for name in names}


def test_rust_layers(root: Path) -> None:
    source = root / "crates/protok-core/src"
    if not source.is_dir():
        pytest.skip("no Rust sources here")
    for path in sorted(source.rglob("*.rs")):
        inside = path.relative_to(source)
        module = inside.parts[0].removesuffix(".rs")
        if module == "lib" or path.stem == "tests" or "tests" in inside.parts:
            continue
        assert module in RUST_LAYERS, f"{module} has no layer: give it one"
        for target in rust_edges(path.read_text("utf-8")) - {module}:
            where = f"{path.relative_to(root)}: {module} -> {target}"
            assert target in RUST_LAYERS[module], where


def test_edges_are_found() -> None:
    source = """
        use crate::{error::{Error, Result}, spec::Spec, Result};
        use crate::text::utf8; // crate::formats
        fn f() { crate::pipeline::run() }
        #[cfg(test)] mod tests { use crate::train; }
    """
    assert rust_edges(source) == {"error", "spec", "text", "pipeline"}


def test_the_engine_knows_nothing_of_python(root: Path) -> None:
    manifest = (root / "crates/protok-core/Cargo.toml").read_text("utf-8")
    assert "pyo3" not in manifest
