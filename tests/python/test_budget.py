"""Counting, cutting, encoding again what changed, and calls that leave an event loop free."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protok
from protok import _core
from protok.budget.conversation import truncate_chat, turns_of

if TYPE_CHECKING:
    from protok.budget import Piece

FAMILIES = {
    "byte-level": "llama3.1/tokenizer.json",
    "fallback": "mistral-v0.1/tokenizer.model.v1",
    "wordpiece": "minilm-bert-uncased/tokenizer.json",
    "unigram": "t5-base/tokenizer.json",
    "sentencepiece": "albert/spiece.model",
    "greedy": "rwkv-world/rwkv_vocab_v20230424.txt",
}
BOUNDARIES = ("grapheme", "word", "sentence", "line")


@pytest.fixture(scope="module", params=FAMILIES)
def tok(request: pytest.FixtureRequest, shared: Path) -> protok.Tokenizer:
    path = shared / "artifacts" / FAMILIES[request.param]
    return protok.load(path if path.suffix == ".json" else path.read_bytes())


# -- count ------------------------------------------------------------------------------------


def test_a_limited_count_stops_early(demo: protok.Tokenizer) -> None:
    text = "one two three " * 200_000
    assert demo.count(text, limit=10) == 11
    assert demo.count("one two", limit=10) == demo.count("one two") == 2
    assert demo.count("", limit=0) == 0
    whole, limited = [], []
    for _ in range(3):
        start = time.thread_time()
        demo.count(text)
        whole.append(time.thread_time() - start)
        start = time.thread_time()
        demo.count(text, limit=1000)
        limited.append(time.thread_time() - start)
    assert min(limited) < min(whole) / 20


def test_a_limit_counts_the_template(llama3: protok.Tokenizer) -> None:
    for text in ("Hi", "", "one two three"):
        exact = llama3.count(text, add_special_tokens=True)
        for limit in range(6):
            counted = llama3.count(text, limit=limit, add_special_tokens=True)
            assert counted == min(exact, limit + 1)


def test_a_limit_is_for_one_text(demo: protok.Tokenizer) -> None:
    with pytest.raises(protok.InputError, match="one text"):
        demo.count(["a", "b"], limit=3)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="tools"):
        demo.count("a", tools=[])  # type: ignore[arg-type]


# -- truncate ---------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right", "middle"])
def test_truncated_texts_fit_and_are_told(tok: protok.Tokenizer, side: Any) -> None:
    text = "Der Fluß, 한국어와 👩‍👩‍👧 e\u0301tude. Zwei  Sätze!\nUnd 12345 Zeilen\r\nhier."
    bounds = _core.boundaries(text, "grapheme")
    for tokens in (1, 2, 3, 5, 8, 13, 21, 200):
        cut = tok.truncate(text, tokens, side=side)
        assert cut.tokens == tok.count(cut.text) <= tokens
        left, at = "", 0
        for start, end in cut.removed:
            assert start in bounds
            assert end in bounds
            left, at = left + text[at:start], end
        assert left + text[at:] == cut.text
        if not cut.removed:
            assert cut.text == text
        elif side == "right":
            assert text.startswith(cut.text)
        elif side == "left":
            assert text.endswith(cut.text)


def test_as_much_is_left_as_fits(demo: protok.Tokenizer) -> None:
    text = " ".join(["one", "two", "three", "four"] * 20)
    sides: list[Any] = ["left", "right", "middle"]
    for side in sides:
        assert demo.truncate(text, 9, side=side).tokens == 9
    marked = demo.truncate(text, 9, side="middle", marker=" … ", boundary="word")
    assert marked.text.startswith("one two")
    assert marked.text.endswith(" four")
    assert " … " in marked.text
    assert demo.truncate("one. Two three.", 3, boundary="sentence").text == "one. "


def test_what_cannot_be_cut_to_fit(demo: protok.Tokenizer) -> None:
    assert demo.truncate("one two", 0, side="right").text == ""
    with pytest.raises(protok.InputError, match="marker"):
        demo.truncate("one two three four five", 1, marker="a long marker")


# -- split ------------------------------------------------------------------------------------


def check_pieces(tok: protok.Tokenizer, text: str, pieces: Sequence[Piece], most: int) -> None:
    bounds = set(_core.boundaries(text, "grapheme"))
    end = 0
    for piece in pieces:
        assert piece.text == text[piece.start : piece.end]
        assert piece.tokens == tok.count(piece.text) <= most
        assert {piece.start, piece.end} <= bounds
        assert piece.start <= end < piece.end
        end = piece.end
    assert end == len(text)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_pieces_cover_and_fit(tok: protok.Tokenizer, boundary: Any) -> None:
    text = "Der Fluß. Zwei  Sätze!\nUnd 👩‍👩‍👧 12345\r\n한국어와 e\u0301tude, " * 4
    for most, overlap in ((40, 0), (40, 10), (60, 20), (500, 3)):
        pieces = tok.split(text, most, boundary=boundary, overlap=overlap)
        check_pieces(tok, text, pieces, most)
        for before, after in pairwise(pieces):
            shared = text[after.start : before.end]
            assert tok.count(shared) <= overlap


def test_pieces_end_where_they_may(demo: protok.Tokenizer) -> None:
    text = "One two. Three four.\nFive six seven.\n"
    lines = [piece.text for piece in demo.split(text, 8, boundary="line")]
    assert lines == ["One two. Three four.\n", "Five six seven.\n"]
    sentences = [piece.text for piece in demo.split(text, 6, boundary="sentence")]
    assert sentences == ["One two. ", "Three four.\n", "Five six seven.\n"]
    assert demo.split("", 5) == []


def test_a_character_is_never_cut(demo: protok.Tokenizer) -> None:
    family = "\U00012000\u0301"
    with pytest.raises(protok.InputError, match="more than 2 tokens") as caught:
        demo.split(f"ab {family}", 2)
    assert caught.value.value == family
    with pytest.raises(protok.InputError, match="overlap"):
        demo.split("a b", 2, overlap=2)
    with pytest.raises(protok.InputError, match="not known"):
        demo.split("a b", 2, boundary="page")  # type: ignore[arg-type]


def test_every_language_of_the_parallel_corpus(shared: Path) -> None:
    """Budgets hold, no grapheme is cut, and pieces cover the text, for four kinds of models."""
    source = random.Random(8)
    toks = [
        protok.load(shared / "artifacts/llama3.1/tokenizer.json"),
        protok.load(shared / "artifacts/gemma3/tokenizer.json"),
        protok.load(shared / "artifacts/xlmr-like-1k/tokenizer.json"),
        protok.load(shared / "artifacts/minilm-bert-uncased/tokenizer.json"),
    ]
    paths = sorted((shared / "corpus/parallel").rglob("*.txt"))
    languages = [path for path in paths if path.name != "DOCUMENT_IDS.txt"]
    assert len(languages) > 500
    for index, path in enumerate(languages):
        lines = path.read_bytes().decode().split("\n")
        at = source.randrange(max(1, len(lines) - 3))
        text = "\n".join(lines[at : at + 3])[:700]
        tok = toks[index % len(toks)]
        most = source.choice([24, 32, 50])
        boundary: Any = source.choice(BOUNDARIES)
        check_pieces(tok, text, tok.split(text, most, boundary=boundary, overlap=4), most)
        bounds = set(_core.boundaries(text, "grapheme"))
        for side in ("left", "right", "middle"):
            cut = tok.truncate(text, most, side=side)
            assert tok.count(cut.text) <= most, path
            assert all({*span} <= bounds for span in cut.removed), path


# -- edit -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["gpt2", "llama3.1", "qwen3", "deepseek-v3", "gemma3", "mistral-v0.1", "t5-base",
             "minilm-bert-uncased", "cl100k_base"],
)  # fmt: skip
def test_an_edit_of_a_megabyte_encodes_under_two_kilobytes(shared: Path, name: str) -> None:
    if name == "cl100k_base":
        tok = protok.load(shared / f"artifacts/tiktoken/{name}.tiktoken", encoding=name)
    else:
        tok = protok.load(shared / f"artifacts/{name}/tokenizer.json")
    text = (shared / "corpus/prose/en/moby-dick.txt").read_bytes()[:1_000_000].decode()
    encoding = tok.encode(text, special="text")
    source = random.Random(5)
    for _ in range(4):
        at = source.randrange(len(text))
        text = text[:at] + "x" + text[at + 1 :]
        encoding, encoded = _core.edit(tok, encoding, (at, at + 1), "x", "codepoint")
        assert encoded < 2000
    more, encoded = _core.edit(tok, encoding, (len(text), len(text)), "y", "codepoint")
    assert encoded < 2000
    assert encoding == tok.encode(text, special="text")
    assert more == tok.encode(text + "y", special="text")


@given(st.text("ab .é🐈\n1", max_size=40), st.text("ab .é", max_size=8), st.data())
def test_edits_of_small_texts(text: str, new: str, data: st.DataObject) -> None:
    tok = protok.load("protok:demo")
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    edited = tok.edit(tok.encode(text), (start, end), new)
    assert edited == tok.encode(text[:start] + new + text[end:])
    assert edited.offsets.tolist() == tok.encode(edited.original).offsets.tolist()
    assert tok.append(edited, new) == tok.encode(edited.original + new)


def test_edits_keep_the_options(llama3: protok.Tokenizer) -> None:
    encoding = llama3.encode("one two three", max_length=3)
    assert llama3.append(encoding, " four") == llama3.encode("one two three four", max_length=3)
    with pytest.raises(protok.SpecialTokenError):
        llama3.append(llama3.encode("one two <|eot_"), "id|>")
    parsed = llama3.encode("one two <|eot_", special="parse", add_special_tokens=False)
    assert llama3.append(parsed, "id|>").tolist()[-1] == llama3.vocab["<|eot_id|>"]


def test_what_cannot_be_edited(demo: protok.Tokenizer, llama3: protok.Tokenizer) -> None:
    encoding = demo.encode("a🐈b")
    for span in ((2, 1), (0, 9), (4, 4)):
        with pytest.raises(protok.InputError, match="span"):
            demo.edit(encoding, span, "")
    assert demo.edit(encoding, (1, 3), "c", unit="utf16").original == "acb"
    with pytest.raises(protok.InputError, match="cuts a character"):
        demo.edit(encoding, (1, 2), "c", unit="byte")
    with pytest.raises(protok.InputError, match="another tokenizer"):
        llama3.append(encoding, "x")
    for other in (demo.encode("a", "b"), demo.encode(["a", "b"], is_pretokenized=True)):
        with pytest.raises(protok.InputError, match="one whole text"):
            demo.edit(other, (0, 0), "x")


# -- conversations ----------------------------------------------------------------------------

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one two three"},
    {"role": "assistant", "content": "four"},
    {"role": "tool", "content": "five six"},
    {"role": "user", "content": "seven"},
    {"role": "assistant", "content": "eight nine"},
    {"role": "user", "content": "ten"},
]


def words(messages: Sequence[Any]) -> int:
    return sum(len(message["content"].split()) for message in messages)


def test_whole_turns_are_dropped_and_the_system_turn_is_kept() -> None:
    assert turns_of(TALK) == ([0], [[1, 2, 3], [4, 5], [6]])
    whole = truncate_chat(TALK, 12, "oldest", words)
    assert (whole.dropped, whole.tokens) == ((), 12)
    cut = truncate_chat(TALK, 11, "oldest", words)
    assert (cut.dropped, cut.tokens) == ((1, 2, 3), 6)
    assert [message["role"] for message in cut.messages] == ["system", "user", "assistant", "user"]
    assert truncate_chat(TALK, 11, "middle", words).dropped == (4, 5)
    assert truncate_chat(TALK, 11, lambda _: [1, 0], words).dropped == (4, 5)
    assert truncate_chat(TALK, 3, "oldest", words).dropped == (1, 2, 3, 4, 5)
    with pytest.raises(protok.InputError, match="3 tokens, more than 2"):
        truncate_chat(TALK, 2, "oldest", words)
    with pytest.raises(protok.InputError, match="turn 9"):
        truncate_chat(TALK, 2, lambda _: [9], words)
    with pytest.raises(protok.InputError, match="not known"):
        truncate_chat(TALK, 2, "newest", words)  # type: ignore[arg-type]


# -- asynchronous calls -----------------------------------------------------------------------


def test_bulk_calls_leave_the_event_loop_free(demo: protok.Tokenizer) -> None:
    texts = ["The quick brown fox jumps over the lazy dog. " * 4000] * 20

    async def run() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.002)
                ticks += 1

        ticking = asyncio.create_task(tick())
        batch = await demo.aencode_batch(texts, threads=1)
        decoded = await demo.adecode_batch(batch, threads=1)
        counts = await demo.acount(texts, threads=1)
        ticking.cancel()
        assert decoded == texts
        assert counts.tolist() == [len(row) for row in batch]
        return ticks

    assert asyncio.run(run()) > 5
