"""Files stay small, have honest names, and speak of protok alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

LIMIT = 600
FOLDERS = ("crates", "python", "tests", "benchmarks", "tools", "fuzz")
DRAWERS = {"utils", "util", "common", "helpers", "helper", "misc"}


def sources(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            inside = path.relative_to(root).parts
            # A stub mirrors its module, however long that is.
            if path.suffix in {".py", ".rs"} and not {"target", "generated"} & {*inside}:
                yield path


def test_file_sizes(root: Path) -> None:
    lines = {path: len(path.read_text("utf-8").split("\n")) for path in sources(root)}
    assert len(lines) > 20
    too_long = {
        str(path.relative_to(root)): count for path, count in lines.items() if count > LIMIT
    }
    assert not too_long


def test_no_drawers(root: Path) -> None:
    for path in sources(root):
        parts = path.relative_to(root).with_suffix("").parts
        assert not DRAWERS & {*parts}, path


def test_package_inits_only_re_export(root: Path) -> None:
    init = (root / "python/protok/cli/__init__.py").read_text("utf-8")
    assert not re.search(r"^(def|class) ", init, re.MULTILINE)


def test_no_machine_paths(root: Path) -> None:
    # Spelled apart, so that this file passes its own test.
    forbidden = re.compile("|".join(["/" + "work/", "/" + "root/", "/" + "home/"]))
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), root / "Makefile"]
    for path in [*sources(root), *pages]:
        assert not forbidden.search(path.read_text("utf-8")), path
