"""Faults that other software had when it streamed text, and their whole kind.

Named after the collected cases.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import protok

FFFD = "\ufffd"


@pytest.fixture(scope="module")
def mistral(shared: Path) -> protok.Tokenizer:
    return protok.load((shared / "artifacts/mistral-v0.1/tokenizer.model.v1").read_bytes())


@pytest.fixture(scope="module")
def gemma(shared: Path) -> protok.Tokenizer:
    return protok.load(shared / "artifacts/gemma3/tokenizer.json")


def texts(stream: protok.Stream, ids: list[int]) -> list[str]:
    return [stream.push(id).text for id in ids]


def test_case_D06(mistral: protok.Tokenizer) -> None:
    """Tokens that come one by one keep their blanks."""
    assert texts(mistral.stream(), [478, 5310, 13825]) == ["we", " eat", " rice"]


def test_case_D11(cl100k: protok.Tokenizer) -> None:
    """Cutting to so many tokens does not cut a character; the bytes can still be had."""
    ids = cl100k.encode("night 🌙").tolist()
    assert ids == [9471, 11410, 234, 247]
    cut = cl100k.truncate("night 🌙", 2)
    assert (cut.text, cut.tokens, cut.removed) == ("night ", 2, ((6, 7),))
    assert cl100k.decode_bytes(ids[:2]) == bytes.fromhex("6e6967687420f09f")
    stream = cl100k.stream()
    assert stream.push(ids[:2]).text == "night "
    assert stream.held == bytes.fromhex("f09f")
    for text in ("👩‍👩‍👧‍👦 family", "e\u0301e\u0301e\u0301", "🇩🇪🇫🇷", "한국어", "a\r\nb"):
        for tokens in range(8):
            if tokens and (kept := cl100k.truncate(text, tokens).text):
                assert len(kept) in boundaries(text), (text, tokens)


def boundaries(text: str) -> list[int]:
    from protok import _core

    return _core.boundaries(text, "grapheme")


def test_case_T01(llama3: protok.Tokenizer) -> None:
    """A character over several tokens comes whole, and all before it at once."""
    ids = [3427, 11410, 235, 118, 104508, 842]
    assert texts(llama3.stream(), ids) == ["go", " ", "", "🍺", "말", " end"]
    stream = llama3.stream()
    released = [stream.push(id).ids for id in ids]
    assert released == [(3427,), (), (), (11410, 235, 118), (104508,), (842,)]


def test_case_T03(gemma: protok.Tokenizer, mistral: protok.Tokenizer) -> None:
    """Bytes and text in any order: the joined text is that of the whole, without an error."""
    source = random.Random(3)
    for tok in (gemma, mistral):
        byte = [tok.vocab[f"<0x{value:02X}>"] for value in range(256)]
        for _ in range(300):
            ids = [
                source.choice(byte) if source.random() < 0.7 else source.randrange(300, 3000)
                for _ in range(source.randint(1, 12))
            ]
            stream = tok.stream()
            assert "".join(texts(stream, ids)) + stream.finish().text == tok.decode(ids)


def test_case_T04(cl100k: protok.Tokenizer) -> None:
    """A genuine U+FFFD is text: it is not waited behind, however many there are."""
    assert texts(cl100k.stream(), [64, 5809, 65, 272]) == ["a", FFFD, "b", " c"]
    stream = cl100k.stream()
    for _ in range(20_000):
        assert stream.push(5809).text == FFFD
    assert stream.held == b""


def test_case_T05(llama3: protok.Tokenizer) -> None:
    """What is left of a character at the end can be had, as text and as bytes, and is told."""
    ids = llama3.encode("hi 🧠", add_special_tokens=False).tolist()
    stream = llama3.stream()
    assert "".join(texts(stream, ids[:-1])) == "hi "
    assert stream.held == bytes.fromhex("f09fa7")
    last = stream.finish()
    assert (last.text, last.reason, last.stopped) == (FFFD, "incomplete character", False)
    assert last.ids == tuple(ids[1:-1])
    whole = llama3.stream()
    assert "".join(texts(whole, ids)) == "hi 🧠"
    assert (whole.finish().text, whole.held) == ("", b"")


def test_case_T06(llama3: protok.Tokenizer, mistral: protok.Tokenizer) -> None:
    """What was given is never given again: the text only grows, to that of the whole."""
    source = random.Random(6)
    for tok in (llama3, mistral):
        pool = tok.encode("B 国cd 中文 。 \n\t 🐈 é ", add_special_tokens=False).tolist()
        for _ in range(200):
            ids = source.choices(pool, k=source.randint(1, 20))
            whole, text = tok.decode(ids), ""
            stream = tok.stream()
            for id in ids:
                text += stream.push(id).text
                assert whole.startswith(text)
            assert text + stream.finish().text == whole


def test_case_T07() -> None:
    """No part of a stop string is given before it is known to be none."""
    matcher = protok.StopMatcher("UVWXYZ")
    deltas = [matcher.push(text) for text in ("UV", "W", "XY", "Z")]
    assert "".join(delta.text for delta in deltas) == ""
    assert (deltas[-1].reason, deltas[-1].stop) == ("stop string", "UVWXYZ")
    assert [delta.stopped for delta in deltas] == [False, False, False, True]


def test_case_T08() -> None:
    """Held back is what begins a stop string, and not a character more."""
    matcher = protok.StopMatcher("<|sep|>")
    deltas = [matcher.push(text).text for text in ("hello world", "!", "<|se", "x")]
    assert deltas == ["hello world", "!", "", "<|sex"]
    several = protok.StopMatcher(["aab", "ab\n", "\n\n\n"])
    assert [several.push(char).text for char in "aaaab"] == ["", "", "a", "a", ""]
    assert several.stop_span == (2, 5)


def test_case_T09(llama3: protok.Tokenizer) -> None:
    """A stop string may begin and end within tokens; what follows in the token is not given."""
    matcher = protok.StopMatcher("red green")
    given = [matcher.push(text).text for text in ("blue", " red", " green, black")]
    assert "".join(given) == "blue "
    ids = llama3.encode("a 🍺 b", add_special_tokens=False).tolist()
    stream = llama3.stream(stop="🍺")
    deltas = [stream.push(id) for id in ids]
    assert "".join(delta.text for delta in deltas) == "a "
    assert stream.stop_span == (2, 3)
    # The token that holds the blank and the first bytes of the emoji is not released.
    assert [id for delta in deltas for id in delta.ids] == ids[:1]


def test_case_T11(llama3: protok.Tokenizer) -> None:
    """The bytes of a token are its bytes, whatever part of a character they are."""
    ids = [9468, 235, 118]
    assert [[*llama3.vocab.bytes(id)] for id in ids] == [[240, 159], [141], [186]]
    stream = llama3.stream()
    held = []
    for id in ids:
        stream.push(id)
        held.append(stream.held)
    assert held == [b"\xf0\x9f", b"\xf0\x9f\x8d", b""]


def test_case_T12(mistral: protok.Tokenizer, cl100k: protok.Tokenizer) -> None:
    """Clean-up, where it is asked for, is that of the whole text; without it blanks stay."""
    assert mistral.encode("        !", add_special_tokens=False).tolist() == [273, 918]
    assert cl100k.encode("        !").tolist() == [286, 758]
    for tok in (mistral, cl100k):
        for text in ("        !", "a , b", "I 'm , are n't", "x ' y", "a  ."):
            ids = tok.encode(text, add_special_tokens=False).tolist()
            for clean_up in (False, True):
                stream = tok.stream(clean_up_spaces=clean_up)
                joined = "".join(texts(stream, ids)) + stream.finish().text
                assert joined == tok.decode(ids, clean_up_spaces=clean_up)
            assert tok.decode(ids) == text
