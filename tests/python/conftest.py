"""Real tokenizers that several files of cases look at."""

from __future__ import annotations

from pathlib import Path

import pytest

import protok


@pytest.fixture(scope="session")
def cl100k(shared: Path) -> protok.Tokenizer:
    """Return OpenAI's cl100k_base."""
    return protok.load(shared / "artifacts/tiktoken/cl100k_base.tiktoken", encoding="cl100k_base")


@pytest.fixture(scope="session")
def llama3(shared: Path) -> protok.Tokenizer:
    """Return Llama 3.1's tokenizer.json."""
    return protok.load(shared / "artifacts/llama3.1/tokenizer.json")
