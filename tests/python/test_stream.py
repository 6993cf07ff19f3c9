"""Streams: what is released when, stops, prompts, copies, rollbacks, asynchronous sources."""

from __future__ import annotations

import asyncio
import copy
import random
import threading
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_artifacts import load, unigram

import protok


def joined(stream: protok.Stream, pushes: Sequence[Any]) -> str:
    return "".join(stream.push(push).text for push in pushes) + stream.finish().text


# -- any decoder ------------------------------------------------------------------------------

TOKENS = [
    "a", "b", "\u2581", "\u2581a", "a\u2581b", "\u2581\u2581", "</w>", "a</w>", "<", "</", "w>",
    "##a", "##", "a##b", " ", " .", ".", "!", " '", "'", " n't", "n't", " do not", "do", " not",
    "|", "<pad>", "<0x41>", "<0xE2>", "<0x96>", "<0x81>", "<0xF0>", "<0x9F>", "<0x", "4", "1>",
    "Ġ", "Ġa", "Â", "é", "ab", "aab", "", "\ufffd",
]  # fmt: skip
STEPS: list[dict[str, Any]] = [
    {"type": "ByteFallback"},
    {"type": "Fuse"},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    {"type": "Strip", "content": "\u2581", "start": 2, "stop": 2},
    {"type": "Strip", "content": "a", "start": 0, "stop": 1},
    {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
    {"type": "Replace", "pattern": {"String": "aab"}, "content": "b"},
    {"type": "Replace", "pattern": {"String": "ab"}, "content": ""},
    {"type": "Replace", "pattern": {"String": " "}, "content": "  "},
    {"type": "Replace", "pattern": {"Regex": "a+b"}, "content": "x"},
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "WordPiece", "prefix": "##", "cleanup": False},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
]


@given(
    st.lists(st.sampled_from(STEPS), max_size=5),
    st.lists(st.integers(1, len(TOKENS)), max_size=14),
    st.lists(st.integers(1, 4), min_size=14, max_size=14),
    st.booleans(),
)
def test_any_decoder_in_any_pushes(
    steps: list[dict[str, Any]],
    ids: list[int],
    sizes: list[int],
    clean_up: bool,
) -> None:
    decoder = {"type": "Sequence", "decoders": steps} if steps else None
    tok = load(unigram(*((token, -1.0) for token in TOKENS)), decoder=decoder)
    whole = tok.decode(ids, clean_up_spaces=clean_up)
    stream = tok.stream(clean_up_spaces=clean_up)
    text, at = "", 0
    released: list[int] = []
    for size in sizes:
        delta = stream.push(ids[at : at + size])
        at += size
        text, released = text + delta.text, [*released, *delta.ids]
        assert whole.startswith(text)
    delta = stream.finish()
    assert text + delta.text == whole
    assert [*released, *delta.ids] == ids


# -- what is released -------------------------------------------------------------------------


@given(st.lists(st.integers(0, 16383), max_size=20))
def test_ids_are_those_of_which_all_text_is_released(ids: list[int]) -> None:
    tok = protok.load("protok:demo")
    stream = tok.stream()
    total = 0
    for count, id in enumerate(ids, 1):
        total += len(stream.push(id).ids)
        data = tok.decode_bytes(ids[:count])
        held = len(stream.held)
        # Held is a character that was begun: nothing else can still change.
        assert data[len(data) - held :] == stream.held
        if held:
            with pytest.raises(UnicodeDecodeError, match="unexpected end"):
                stream.held.decode()
        sizes = [len(tok.decode_bytes(ids[:some])) for some in range(count + 1)]
        assert total == max(some for some, size in enumerate(sizes) if size <= len(data) - held)


def test_skipped_tokens_are_released_without_text(llama3: protok.Tokenizer) -> None:
    ids = llama3.encode("Hi<|eot_id|>", special="parse").tolist()
    stream = llama3.stream(skip_special_tokens=True)
    deltas = [stream.push(id) for id in ids]
    assert [delta.text for delta in deltas] == ["", "Hi", ""]
    assert [delta.ids for delta in deltas] == [(id,) for id in ids]


def test_a_delta_is_that_of_its_own_tokenizer_and_id(demo: protok.Tokenizer) -> None:
    other = protok.train(protok.Recipe(vocab_size=260), ["low lower lowest"])
    for _ in range(3):
        for tok in (demo, other):
            for id in (65, 66, 1, 65):
                delta = tok.stream().push(id)
                assert (delta.text, delta.ids) == (tok.decode([id]), (id,))
        # What is only like an int is not what is kept.
        delta = demo.stream().push(True)  # noqa: FBT003
        assert delta.ids == (1,)
        assert type(delta.ids[0]) is int


def test_a_refused_id_changes_nothing(demo: protok.Tokenizer) -> None:
    stream = demo.stream()
    stream.push(demo.encode("one"))
    with pytest.raises(protok.UnknownIdError) as caught:
        stream.push([*demo.encode(" two"), 99_999])
    assert (caught.value.position, caught.value.value) == (1, "99999")
    for wrong in (-1, "1", 1.5, None, [[1]]):
        with pytest.raises((protok.InputError, protok.UnknownIdError)):
            stream.push(wrong)  # type: ignore[arg-type]
    assert stream.push(demo.encode(" two")).text == " two"
    skipping = demo.stream(unknown="skip")
    assert joined(skipping, [*demo.encode("one"), 99_999, *demo.encode(" two")]) == "one two"


def test_strict_bytes_are_refused_when_they_are_certain(llama3: protok.Tokenizer) -> None:
    stream = llama3.stream(errors="strict")
    stream.push([9468, 235])
    with pytest.raises(protok.InputError, match="byte 0") as caught:
        stream.push(3427)
    assert caught.value.position == 0
    open_ended = llama3.stream(errors="strict")
    open_ended.push(9468)
    with pytest.raises(protok.InputError, match="UTF-8"):
        open_ended.finish()
    with pytest.raises(protok.InputError, match="cannot be streamed"):
        llama3.stream(errors="reference")  # type: ignore[arg-type]


def test_the_end_is_the_end(demo: protok.Tokenizer) -> None:
    stream = demo.stream()
    assert stream.finish().reason == "end"
    with pytest.raises(protok.InputError, match="finished"):
        stream.push(5)
    with pytest.raises(protok.InputError, match="finished"):
        stream.finish()


# -- stops ------------------------------------------------------------------------------------


def test_stop_ids(llama3: protok.Tokenizer) -> None:
    ids = llama3.encode("Hi there<|eot_id|> more", special="parse").tolist()
    end = ids[3]
    for include, text in ((False, "Hi there"), (True, "Hi there<|eot_id|>")):
        for pushes in ([ids[1:]], ids[1:]):
            stream = llama3.stream(stop_ids=[end], include_stop=include)
            deltas = [stream.push(push) for push in pushes]
            assert "".join(delta.text for delta in deltas) == text
            stops = {delta.stop for delta in deltas if delta.stopped}
            assert stops == {end}
            assert deltas[-1].reason == "stop id"
            released = [id for delta in deltas for id in delta.ids]
            assert released == ids[1 : 4 if include else 3]
            assert stream.finish().text == ""
    assert llama3.stream(stop_ids=end).push(end).stopped


def test_a_stop_id_ends_a_character_and_what_is_held_back(llama3: protok.Tokenizer) -> None:
    stream = llama3.stream(stop=["there you"], stop_ids=128009)
    assert stream.push(llama3.encode("Hi there", add_special_tokens=False)).text == "Hi "
    assert stream.push(128009).text == "there"
    stream = llama3.stream(stop_ids=128009)
    assert [stream.push(id).text for id in (9468, 128009)] == ["", "\ufffd"]


def test_looking_begins_after_a_marker(demo: protok.Tokenizer) -> None:
    ids = demo.encode("<think>a\n\nb</think>c\n\nd").tolist()
    stream = demo.stream(stop="\n\n", start_after="</think>")
    assert joined(stream, ids) == "<think>a\n\nb</think>c"
    assert stream.stop_span == (20, 22)


def test_hidden_tokens_stop_where_that_is_asked_for(llama3: protok.Tokenizer) -> None:
    ids = llama3.encode("Hi<|eot_id|>there", special="parse", add_special_tokens=False)
    for visible, text in ((True, "Hithere"), (False, "Hi")):
        stream = llama3.stream(stop=["<|eot_id|>"], skip_special_tokens=True, visible_only=visible)
        assert joined(stream, ids.tolist()) == text
        assert stream.stopped is not visible


def test_bad_stops_are_refused(demo: protok.Tokenizer) -> None:
    with pytest.raises(protok.InputError, match="empty") as caught:
        demo.stream(stop=["a", ""])
    assert caught.value.position == 1
    for stop in ([5], [b"a"]):
        with pytest.raises(protok.InputError, match="must be str"):
            demo.stream(stop=stop)  # type: ignore[arg-type]
    with pytest.raises(protok.InputError, match="empty"):
        protok.StopMatcher("a", start_after="")


@given(
    st.text("ab<|é🐈", max_size=30),
    st.lists(st.text("ab<|é🐈", min_size=1, max_size=4), max_size=4),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_stops_do_not_depend_on_the_chunks(
    text: str,
    stops: list[str],
    include: bool,
    seed: int,
) -> None:
    source = random.Random(seed)
    seen = set()
    for data in (text, text.encode(), text, text.encode()):
        matcher = protok.StopMatcher(stops, include_stop=include)
        given, at = "", 0
        while at < len(data):
            size = source.randint(1, 6)
            given += matcher.push(data[at : at + size]).text
            at += size
        seen.add((given + matcher.finish().text, matcher.stop_span))
    assert len(seen) == 1
    [(given, span)] = seen
    if span is None:
        assert given == text
        assert not any(stop in text for stop in stops)
    else:
        assert text[slice(*span)] in stops
        assert given == text[: span[1] if include else span[0]]


def test_a_thousand_stops_cost_no_more_a_character() -> None:
    text = "the cat sat on the mat " * 400
    times = []
    for count in (1, 1000):
        stops = [f"stop {number} there" for number in range(count)]
        start = time.thread_time()
        for _ in range(5):
            matcher = protok.StopMatcher(stops)
            for at in range(0, len(text), 4):
                matcher.push(text[at : at + 4])
        times.append(time.thread_time() - start)
    assert times[1] < 4 * times[0] + 0.1


# -- prompts, copies, rollbacks ---------------------------------------------------------------


def test_a_prompt_that_ends_within_a_character(llama3: protok.Tokenizer) -> None:
    ids = llama3.encode("a 🍺말", add_special_tokens=False).tolist()
    for cut in range(len(ids) + 1):
        prompt = llama3.stream()
        before = "".join(prompt.push(id).text for id in ids[:cut])
        stream = llama3.stream(after=ids[:cut])
        deltas = [stream.push(id) for id in ids[cut:]]
        assert before + "".join(delta.text for delta in deltas) == "a 🍺말"
        assert [id for delta in deltas for id in delta.ids] == ids[cut:]


def test_the_first_token_after_a_prompt_keeps_its_blank(shared: Path) -> None:
    tok = protok.load((shared / "artifacts/mistral-v0.1/tokenizer.model.v1").read_bytes())
    assert tok.stream().push(5310).text == "eat"
    assert tok.stream(after=[478]).push(5310).text == " eat"


def test_copies_go_on_by_themselves(llama3: protok.Tokenizer) -> None:
    stream = llama3.stream(stop="말")
    stream.push([3427, 11410, 235])
    other = copy.copy(stream)
    assert stream.push(118).text == "🍺"
    assert other.push(3427).text == "\ufffdgo"
    assert (stream.held, other.held) == (b"", b"")


@given(st.lists(st.integers(0, 16383), min_size=1, max_size=120), st.integers(0, 2**32))
def test_rolled_back_ids_never_came(ids: list[int], seed: int) -> None:
    tok = protok.load("protok:demo")
    source = random.Random(seed)
    stop = tok.decode(ids)[3:5] or "x"
    stream = tok.stream(stop=stop, max_rollback=8)
    text = ""
    released: list[int] = []
    for id in ids:
        before = stream.copy()
        guess = source.choices(ids, k=source.randint(0, 8))
        kept = len(guess)
        came = 0
        for extra in guess:
            came += not stream.stopped
            delta = stream.push(extra)
            text, released = text + delta.text, [*released, *delta.ids]
        kept = came
        characters, count = stream.rollback(kept)
        text = text[: len(text) - characters]
        released = released[: len(released) - count]
        assert (stream.held, stream.stopped) == (before.held, before.stopped)
        delta, same = stream.push(id), before.push(id)
        assert (delta.text, delta.ids, delta.reason) == (same.text, same.ids, same.reason)
        text, released = text + delta.text, [*released, *delta.ids]
    expected = tok.stream(stop=stop)
    assert text + stream.finish().text == joined(expected, [ids])


def test_no_more_can_be_taken_back_than_was_kept(demo: protok.Tokenizer) -> None:
    ids = demo.encode("one two three four five six").tolist()
    stream = demo.stream(max_rollback=2, after=ids[:1])
    stream.push(ids[1])
    with pytest.raises(protok.InputError, match="the last 1 can"):
        stream.rollback(2)
    stream.push(ids[2:])
    with pytest.raises(protok.InputError, match="2 can"):
        stream.rollback(3)
    assert stream.rollback(2) == (9, 2)
    stream = demo.stream(stop=" two")
    stream.push(ids)
    assert stream.stopped
    assert stream.rollback(1) == (0, 0)
    assert stream.push(demo.encode(" cat")).text == " cat"


# -- cost -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["words", "U+FFFD", "bytes"])
def test_the_cost_of_a_token_is_flat(cl100k: protok.Tokenizer, kind: str) -> None:
    pool = {"words": [9471, 264, 8415], "U+FFFD": [5809], "bytes": [11410, 234]}[kind]
    stream = cl100k.stream(stop="never there")
    block = (pool * 2_000)[:2_000]
    times = []
    for _ in range(20):
        start = time.thread_time()
        for id in block:
            stream.push(id)
        times.append(time.thread_time() - start)
    assert min(times[-10:]) < 2 * min(times[:5])


def test_streams_are_safe_between_threads(demo: protok.Tokenizer) -> None:
    stream = demo.stream()
    [id] = demo.encode("a")
    parts: list[str] = []

    def work() -> None:
        parts.append("".join(stream.push(id).text for _ in range(500)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "".join(parts) == "a" * 2000


# -- asynchronous sources ---------------------------------------------------------------------


def test_an_asynchronous_source_is_closed_at_a_stop(demo: protok.Tokenizer) -> None:
    ids = demo.encode("one two three four").tolist()
    closed = []

    async def source() -> AsyncIterator[int]:
        try:
            for id in ids:
                yield id
        finally:
            closed.append(True)

    async def run(**options: Any) -> list[protok.Delta]:
        return [delta async for delta in demo.astream(source(), **options)]

    deltas = asyncio.run(run(stop=" three"))
    assert "".join(delta.text for delta in deltas) == "one two"
    assert (deltas[-1].reason, closed) == ("stop string", [True])
    deltas = asyncio.run(run())
    assert "".join(delta.text for delta in deltas) == "one two three four"
    assert deltas[-1].reason == "end"


def test_a_synchronous_source_of_several_ids(demo: protok.Tokenizer) -> None:
    ids = demo.encode("one two three four").tolist()

    async def run() -> str:
        pushes = [ids[:2], ids[2:]]
        return "".join([delta.text async for delta in demo.astream(pushes, after=ids)])

    assert asyncio.run(run()) == "one two three four"
