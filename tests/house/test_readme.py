"""The code in the README and the documentation runs, and gives what its comments say."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
]


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def comments(source: str) -> dict[int, str]:
    """Return the comment at the end of each line of code, by line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: token.string.removeprefix("#").strip()
        for token in tokens
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip()
    }


def run(source: str, names: dict[str, object]) -> int:
    """Run statement by statement; an expression's comment must be its value."""
    checked = 0
    expected = comments(source)
    for node in ast.parse(source).body:
        code = ast.get_source_segment(source, node) or ""
        comment = expected.get(node.end_lineno or 0)
        if isinstance(node, ast.Expr) and comment is not None:
            value = eval(code, names)
            assert comment in {repr(value), str(value)}, f"{code}\ngives {value!r}"
            checked += 1
        else:
            exec(code, names)
    return checked


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks(root: Path, page: str) -> None:
    names: dict[str, object] = {}
    checked = sum(run(block, names) for block in blocks((root / page).read_text("utf-8")))
    if page == "README.md" or page.startswith(("docs/guides/", "docs/concepts/")):
        assert checked >= 5


def test_a_wrong_comment_is_noticed() -> None:
    assert run("x = 1  # any\nx + 1  # 2\n", {}) == 1
    with pytest.raises(AssertionError, match="gives 2"):
        run("1 + 1  # 3\n", {})
