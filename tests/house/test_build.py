"""The build files agree with one another."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

TARGETS = ["bench", "counts", "demo", "docs", "fuzz", "lint", "soak", "test", "wheel"]


def test_make_targets(root: Path) -> None:
    makefile = (root / "Makefile").read_text("utf-8")
    targets = re.findall(r"^([a-z]+):", makefile, re.MULTILINE)
    assert sorted(set(targets) - {"setup"}) == TARGETS


def test_ci_runs_the_same_targets(root: Path) -> None:
    script = root / ".ci/run"
    assert os.access(script, os.X_OK)
    made = ["test", "lint", "counts"]
    assert re.findall(r"^make (\w+)", script.read_text("utf-8"), re.MULTILINE) == made


def test_versions_agree(root: Path) -> None:
    import protok

    cargo = tomllib.loads((root / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
    toolchain = tomllib.loads((root / "rust-toolchain.toml").read_text("utf-8"))["toolchain"]
    assert protok.__version__ == cargo["version"]
    assert toolchain["channel"].startswith(cargo["rust-version"])
    assert f"[{cargo['version']}]" in (root / "CHANGELOG.md").read_text("utf-8")


def test_every_change_says_whether_ids_changed(root: Path) -> None:
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    entries = re.findall(r"^- .*(?:\n  .*)*", changes, re.MULTILINE)
    assert entries
    for entry in entries:
        assert re.search(r"ids changed: (yes|no)", entry), entry
