"""The differential command finds no difference in a small sample."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.usefixtures("shared")
def test_small_sample(root: Path) -> None:
    pytest.importorskip("tokenizers")
    pytest.importorskip("tiktoken")
    pytest.importorskip("sentencepiece")
    result = subprocess.run(
        [sys.executable, root / "tests/differential/run.py", "--small"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
