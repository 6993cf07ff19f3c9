"""The table of classes by model type is the one of the release that is followed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from protok import load


def test_the_table_is_in_step(root: Path) -> None:
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    tool = root / "tools/transformers_models.py"
    subprocess.run([sys.executable, str(tool), "--check"], check=True)


def test_the_tools_and_the_goldens_name_one_release(root: Path) -> None:
    version = 'VERSION = "5.24.0"'
    for name in ("transformers_models", "transformers_goldens"):
        assert version in (root / f"tools/{name}.py").read_text("utf-8")
    assert "5.24.0" in (load.__doc__ or "")
