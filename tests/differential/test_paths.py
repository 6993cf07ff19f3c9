"""The fast path and the reference path say the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from differential.paths import ARTIFACTS, Paths, golden_inputs


@pytest.mark.usefixtures("shared")
def test_small_sample(root: Path) -> None:
    result = subprocess.run(
        [sys.executable, root / "tests/differential/paths.py", "--small"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"


@pytest.mark.parametrize("name", ARTIFACTS)
def test_traces_of_the_golden_inputs(shared: Path, name: str) -> None:
    paths = Paths(shared / "artifacts" / ARTIFACTS[name])
    for text in golden_inputs():
        assert paths.fast(text) == paths.reference(text), text[:80]
