"""What streams give, joined, is what decoding gives, for every artifact and cut."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.usefixtures("shared")
def test_small_sample(root: Path) -> None:
    result = subprocess.run(
        [sys.executable, root / "tests/differential/streams.py", "--cuts", "6000"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
