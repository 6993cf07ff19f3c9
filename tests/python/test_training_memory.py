"""A limit of memory for counting is kept, and does not show in what was counted."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STATUS = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="there is no /proc")

WORDS = 1_200_000
LIMIT = 24 << 20
# Blocks of text are read, cut and handed on besides.
READING = 32 << 20

COUNT = """
import json, pathlib, re, sys
from protok.training import Recipe, count_words

recipe = Recipe(vocab_size=300, pre_tokenizer={"type": "WhitespaceSplit"}, tie=sys.argv[4])
limit = int(sys.argv[3]) or None
# Of this process alone: what getrusage tells begins with the peak of the parent.
status = pathlib.Path("/proc/self/status")
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) * 1024
before = peak()
corpus = count_words(recipe, [pathlib.Path(sys.argv[1])], sys.argv[2],
                     memory_bytes=limit, threads=2)
print(json.dumps({"peak": peak() - before, "words": corpus["distinct_words"]}))
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write words of which hardly any comes twice."""
    path = tmp_path_factory.mktemp("corpus") / "words.txt"
    digits = random.Random(11).randbytes(5 * WORDS).hex()
    lines = (digits[at : at + 100] for at in range(0, len(digits), 100))
    spaced = (" ".join(line[i : i + 10] for i in range(0, 100, 10)) for line in lines)
    path.write_text("\n".join(spaced))
    return path


@pytest.mark.parametrize("tie", ["lowest-ids", "first-seen"])
def test_counting_stays_within_its_limit(corpus: Path, tmp_path: Path, tie: str) -> None:
    def counted(limit: int) -> tuple[dict[str, Any], bytes]:
        target = tmp_path / str(limit)
        command = [sys.executable, "-c", COUNT, str(corpus), str(target), str(limit), tie]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(done.stdout), target.read_bytes()

    (free, whole), (bounded, streamed) = counted(0), counted(LIMIT)
    assert streamed == whole
    assert free["words"] == bounded["words"] > 0.99 * WORDS
    # To know the order in which words were met takes eight bytes for each.
    numbers = 8 * WORDS if tie == "first-seen" else 0
    assert bounded["peak"] < LIMIT + READING + numbers
    assert bounded["peak"] < free["peak"] / 2
