"""Where tokens go, what they cost, and what an API counted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import protok
from protok.budget.calibration import calibrate, read_usage
from protok.budget.where import by_kind, by_line, by_section, kinds, largest

PAGE = """# Title

Some prose about the thing, with words in it.

```python
def area(width, height):
    return width * height
```

<div>
<div>

## Second part

More prose.
"""


def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "from protok.cli import main; main()", *arguments],
        capture_output=True,
        check=False,
        timeout=120,
    )


class Talk:
    """A tokenizer with a chat: words, and three tokens for each message, and one for the cue."""

    def count(self, text: str | Sequence[Any], **options: Any) -> int:
        """Count words, or those of messages."""
        if isinstance(text, str):
            return len(text.split())
        cue = options.get("add_generation_prompt", True)
        words: Sequence[Any] = text
        return sum(3 + len(message["content"].split()) for message in words) + int(cue)


def test_parts_add_up_to_the_whole(demo: protok.Tokenizer) -> None:
    for text in (PAGE, "", "\n", "no end of line", "a\r\nb\n\n\n", "# Only a heading"):
        for way in (by_line, by_section, by_kind):
            parts = way(demo, text)
            assert sum(part.tokens for part in parts) == demo.count(text)
            assert sum(part.characters for part in parts) == len(text)
        assert "".join(text[start:end] for start, end, _ in kinds(text)) == text


def test_kinds_are_told_apart() -> None:
    found = [(kind, PAGE[start:end].strip()) for start, end, kind in kinds(PAGE)]
    assert ("prose", "Some prose about the thing, with words in it.") in found
    assert ("code", "def area(width, height):") in found
    assert ("indentation", "") in found
    assert ("code", "return width * height") in found
    assert ("markup", "<div>") in found
    assert ("repeated markup", "<div>") in found
    assert found.count(("blank lines", "")) == 5


def test_sections_have_the_names_of_their_headings(demo: protok.Tokenizer) -> None:
    assert [part.name for part in by_section(demo, PAGE)] == ["Title", "Second part"]
    fenced = "intro\n```\n# no heading\n```\n# One\n"
    names = [part.name for part in by_section(demo, fenced)]
    assert names == ["(before the first heading)", "One"]
    lines = by_line(demo, PAGE)
    assert [part.name for part in largest(lines, 2)] == ["3", "6"]


def usage(differences: list[int], texts: list[str], messages: bool) -> list[dict[str, Any]]:
    records = []
    for difference, text in zip(differences, texts, strict=True):
        talk = [{"role": "user", "content": part} for part in text.split("|")]
        counted = Talk().count(talk) if messages else Talk().count(text)
        body = {"messages": talk} if messages else {"prompt": text}
        records.append({"model": "m", **body, "usage": {"prompt_tokens": counted + difference}})
    return records


TEXTS = ["one two", "one|two three|four", "one|two", "long " * 400, "long " * 300 + "|short"]


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([0, 0, 0, 0, 0], "equal"),
        ([7, 7, 7, 7, 7], "overhead for each request"),
        ([4, 12, 8, 4, 8], "overhead for each message"),
        ([5, 11, 8, 5, 8], "another template"),
        ([1, 3, 5, 2, 0], "another template"),
        ([0, 1, 0, 90, 70], "another tokenizer"),
        ([-1, 0, 0, -90, -70], "another tokenizer"),
    ],
)
def test_a_difference_is_explained(differences: list[int], verdict: str) -> None:
    [found] = calibrate(Talk(), usage(differences, TEXTS, messages=True))
    assert found.verdict == verdict, found.detail
    assert found.requests == 5
    assert found.reported - found.counted == sum(differences)
    assert found.exact == differences.count(0)


def test_models_are_told_apart_and_bad_lines_are_named() -> None:
    records = [{"prompt": "a b", "input_tokens": 2, "model": name} for name in ("y", "x", "y")]
    assert [(one.model, one.requests) for one in calibrate(Talk(), records)] == [("x", 1), ("y", 2)]
    with pytest.raises(protok.InputError, match="line 2: The line is no JSON"):
        list(read_usage(["{}", "{"], "usage.jsonl"))
    with pytest.raises(protok.InputError, match="line 1: The line is no request"):
        list(read_usage(["[]"], "usage.jsonl"))
    with pytest.raises(protok.InputError, match="what the API counted"):
        calibrate(Talk(), [{"prompt": "a"}])
    with pytest.raises(protok.InputError, match="neither messages nor a prompt"):
        calibrate(Talk(), [{"prompt_tokens": 1}])


def test_the_command_says_where_tokens_go(tmp_path: Path, demo: protok.Tokenizer) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    for by in ("line", "section", "kind"):
        result = run("count", "--files", "--by", by, "--json", str(page))
        assert result.returncode == 0, result.stderr
        found = json.loads(result.stdout)
        assert found["tokens"] == demo.count(PAGE) == sum(p["tokens"] for p in found["parts"])
    shown = run("count", "--files", "--by", "kind", str(page)).stdout.decode()
    assert "repeated markup" in shown
    wrong = run("count", "--by", "message", "no JSON")
    assert wrong.returncode == 2
    assert b"no JSON" in wrong.stderr


def test_the_command_says_what_texts_cost(tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"small": 0.5, "large": 10}')
    result = run("count", "--json", "--prices", str(prices), "--context", "1000", "one two", "one")
    found = json.loads(result.stdout)
    assert found["total"]["share"] == 0.003
    assert found["items"][0]["prices"] == {"small": 1e-06, "large": 2e-05}
    shown = run("count", "--prices", str(prices), "--context", "1000", "one two", "one")
    assert "0.3%" in shown.stdout.decode()
    assert "first" in shown.stdout.decode()
    prices.write_text('{"small": "cheap"}')
    wrong = run("count", "--prices", str(prices), "one")
    assert wrong.returncode == 2
    assert b"no table" in wrong.stderr


def test_the_command_calibrates(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    lines = [
        {"model": "m", "prompt": text, "usage": {"prompt_tokens": count}}
        for text, count in (("one", 4), ("one two", 5))
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    result = run("count", "--calibrate", str(path), "--json")
    [model] = json.loads(result.stdout)["models"]
    assert (model["verdict"], model["counted"]) == ("overhead for each request", 3)
    assert "+3 tokens for every request" in " ".join(
        run("count", "--calibrate", str(path)).stdout.decode().split()
    )
    assert run("count").returncode == 2
