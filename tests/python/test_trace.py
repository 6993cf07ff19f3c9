"""A trace says what encode does, in lines of at most 80 cells."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import protok
from protok.trace import WIDTH, visible


@pytest.fixture(scope="session")
def nfc() -> protok.Tokenizer:
    recipe = protok.Recipe(vocab_size=264, normalizer={"type": "NFC"}, special_tokens=("<sep>",))
    return protok.train(recipe, ["low lower lowest"])


def test_snapshot(nfc: protok.Tokenizer) -> None:
    trace = nfc.trace("e\u0301 lowest<sep>", special="parse")
    assert str(trace).split("\n") == [
        "text         e\u0301\u2423lowest<sep>",
        "code points  14: U+0065 U+0301 U+0020 U+006C U+006F U+0077 U+0065 U+0073 U+0074",
        "             U+003C U+0073 U+0065 U+0070 U+003E",
        "bytes        15: 65 CC 81 20 6C 6F 77 65 73 74 3C 73 65 70 3E",
        "",
        "section      e\u0301\u2423lowest  [0:10]",
        "normalize    NFC: \xe9\u2423lowest",
        "piece 1      \xe9  [0:3]",
        "  symbols    \xc3  \xa9",
        "  tokens     \xc3 = 128  \xa9 = 103",
        "piece 2      \u2423lowest  [3:10]",
        "  symbols    \u0120  l  o  w  e  s  t",
        "  merge 1    l + o \u2192 lo  rank 0",
        "  merge 2    lo + w \u2192 low  rank 1",
        "  merge 3    \u0120 + low \u2192 \u0120low  rank 2",
        "  merge 4    \u0120low + e \u2192 \u0120lowe  rank 3",
        "  merge 5    s + t \u2192 st  rank 4",
        "  merge 6    \u0120lowe + st \u2192 \u0120lowest  rank 6",
        "  tokens     \u0120lowest = 263",
        "",
        "added token  <sep> = 0  [10:15], found in the text",
        "",
        "token        id        bytes  spelling",
        "    0       128          0:3  \xc3",
        "    1       103          0:3  \xa9",
        "    2       263         3:10  \u0120lowest",
        "    3         0        10:15  <sep>",
    ]


TEXTS = st.lists(
    st.sampled_from(
        ["x" * 200, "\u6771\u4eac" * 60, "\U0001f408" * 50, "e\u0301" * 90, " ", "a b ", "<sep>"]
    )
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    max_size=6,
).map("".join)


@given(text=TEXTS)
def test_no_line_is_wider_than_the_page(nfc: protok.Tokenizer, text: str) -> None:
    trace = nfc.trace(text, special="parse")
    assert all(cell_len(line) <= WIDTH for line in str(trace).split("\n"))
    assert trace.ids == nfc.encode(text, special="parse").tolist()


def test_nothing_is_lost_by_folding(nfc: protok.Tokenizer) -> None:
    text = "lowest " * 30 + "\u6771" * 100
    shown = str(nfc.trace(text)).split("\ncode points")[0]
    lines = [line[13:] for line in shown.split("\n")]
    assert "".join(lines) == visible(text)


def test_a_trace_is_plain_data(nfc: protok.Tokenizer) -> None:
    trace = nfc.trace("e\u0301 low<sep>", special="parse")
    data = trace.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert [section["kind"] for section in data["sections"]] == ["text", "added_token"]
    text = data["sections"][0]
    assert text["steps"] == [{"normalizer": "NFC", "text": "\u00e9 low"}]
    for piece in text["pieces"]:
        symbols = [symbol["token"] for symbol in piece["symbols"]]
        for merge in piece["merges"]:
            assert symbols[merge["at"] : merge["at"] + 2] == [merge["left"], merge["right"]]
            symbols[merge["at"] : merge["at"] + 2] = [merge["result"]]
        assert symbols == [token["token"] for token in piece["tokens"]] or not symbols
    data["original"] = "changed"
    assert trace.original == "e\u0301 low<sep>"
    with pytest.raises(protok.SpecialTokenError):
        nfc.trace("low<sep>")


def run(
    *arguments: str, stdin: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "from protok.cli import main; main()", "trace", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


def test_the_verb(demo: protok.Tokenizer) -> None:
    text = "na\u00efve \U0001f408 " + "\u6771" * 90
    shown = run(text)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.decode().rstrip("\n") == str(demo.trace(text))
    assert json.loads(run("--json", text).stdout) == demo.trace(text).to_dict()
    assert run("-", stdin=text.encode()).stdout == shown.stdout
    coloured = run(text, FORCE_COLOR="1", COLUMNS="80").stdout
    plain = run(text, FORCE_COLOR="1", NO_COLOR="1", TERM="dumb").stdout
    assert b"\x1b[" in coloured
    assert plain.decode().rstrip("\n") == str(demo.trace(text))
