"""The demo tokenizer is what its script trains, and travels with the package."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import protok

FILES = {"provenance.json", "tokenizer.json", "tokenizer_config.json"}


@pytest.mark.usefixtures("shared")
def test_training_gives_the_committed_files(root: Path) -> None:
    result = subprocess.run(
        [sys.executable, root / "tools/train_demo.py", "--check"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr


def test_the_files_are_in_the_package(demo: protok.Tokenizer) -> None:
    folder = Path(protok.__file__).parent / "data/demo"
    assert {path.name for path in folder.iterdir()} == FILES
    provenance = json.loads((folder / "provenance.json").read_text("utf-8"))
    assert provenance["fingerprint"] == demo.fingerprint
    assert provenance["recipe"]["vocab_size"] == demo.vocab.size
    assert provenance["corpus"]
    for source in provenance["corpus"]:
        assert source["licence"].startswith(("public domain", "CC0"))


def test_roles_and_control_tokens(demo: protok.Tokenizer) -> None:
    control = [token.content for token in demo.control_tokens]
    assert control == ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    assert demo.roles == {"eos": "<|endoftext|>", "pad": "<|endoftext|>"}
