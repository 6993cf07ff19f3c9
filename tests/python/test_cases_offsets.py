"""Faults that other tokenization software had with offsets, and their whole kind.

Named after the collected cases. Those that need other families come with them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import protok

BYTE_LEVEL = {"add_prefix_space": False, "trim_offsets": False, "use_regex": True}
FILLERS = ["", "a ", "\U0001f408 ", "e\u0301\n", "\u05e9\u05dc\u05d5\u05dd "]


def byte_alphabet() -> dict[str, int]:
    """Every byte as its printable character, with the byte as id."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in printable]
    spelled = {byte: chr(byte) for byte in printable}
    spelled |= {byte: chr(256 + place) for place, byte in enumerate(rest)}
    return {spelled[byte]: byte for byte in range(256)}


def build(
    words: tuple[str, ...] = (),
    added: tuple[dict[str, Any], ...] = (),
    normalizer: dict[str, Any] | None = None,
    vocab: dict[str, int] | None = None,
    merges: list[list[str]] | None = None,
    **model: Any,
) -> protok.Tokenizer:
    """Load a byte-level tokenizer of bytes and words (by `ignore_merges`), or one of a vocab."""
    byte_level = vocab is None
    if vocab is None:
        vocab = byte_alphabet()
        vocab |= {word.replace(" ", "Ġ"): len(vocab) + at for at, word in enumerate(words)}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    document = {
        "version": "1.0",
        "added_tokens": [
            {**flags, "special": False, "id": len(vocab) + at, **token}
            for at, token in enumerate(added)
        ],
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "ByteLevel", **BYTE_LEVEL} if byte_level else None,
        "post_processor": None,
        "decoder": {"type": "ByteLevel", **BYTE_LEVEL} if byte_level else None,
        "model": {
            "type": "BPE",
            "vocab": vocab,
            "merges": merges or [],
            "ignore_merges": byte_level,
            **model,
        },
    }
    return protok.Tokenizer({"tokenizer.json": json.dumps(document).encode()})


def spans(encoding: protok.Encoding, unit: Any = "codepoint") -> list[list[int]]:
    found: list[list[int]] = encoding.spans(unit).tolist()
    return found


# -- O: offsets -----------------------------------------------------------------------------------


def test_case_O01(cl100k: protok.Tokenizer) -> None:
    """A character spread over several tokens gets its own place, not invented ones."""
    encoding = cl100k.encode("k \u29d6 z")
    assert encoding.tolist() == [74, 2928, 100, 244, 1167]
    assert spans(encoding) == [[0, 1], [1, 3], [2, 3], [2, 3], [3, 5]]
    assert spans(encoding, "byte") == [[0, 1], [1, 3], [3, 4], [4, 5], [5, 7]]
    for before in FILLERS:
        for rare in ("\u29d6", "\U0001d518", "\U00012031", "\u0f3a\u29d6"):
            text = f"{before}k {rare} z"
            encoding = cl100k.encode(text)
            at = low = 0
            for start, end in spans(encoding, "byte"):
                assert start == at < end
                at = end
            assert at == len(text.encode())
            for start, end in spans(encoding):
                assert low <= start < end <= len(text)
                low = start


def test_case_O02(llama3: protok.Tokenizer) -> None:
    """Whole pieces of the vocabulary, which no merge makes, have spans."""
    encoding = llama3.encode("we saw it!", add_special_tokens=False)
    assert encoding.tolist() == [906, 5602, 433, 0]
    assert spans(encoding) == [[0, 2], [2, 6], [6, 9], [9, 10]]
    tok = build(words=("zqx", " zqx"))
    for before in FILLERS:
        encoding = tok.encode(f"{before}zqx zqx")
        start = len(before)
        if not before or before[-1] == "\n":
            assert spans(encoding)[-2:] == [[start, start + 3], [start + 3, start + 7]]
        assert encoding.text(-1) == " zqx"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("e\u0301a\u0300x", ["e\u0301", "a\u0300", "x"]),
        ("xe\u0301", ["x", "e\u0301"]),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", ["\u1112\u1161\u11ab", "\u1100\u116e\u11a8"]),
        ("\u304b\u3099\u304d", ["\u304b\u3099", "\u304d"]),
        ("o\u0323\u0302n", ["o\u0323\u0302", "n"]),
    ],
)
def test_case_O03(text: str, pieces: list[str]) -> None:
    """Characters that compose are covered whole."""
    tok = build(normalizer={"type": "NFC"})
    encoding = tok.encode(text)
    covered = [encoding.text(place) for place in range(len(encoding))]
    assert list(dict.fromkeys(covered)) == pieces
    for place in range(len(encoding)):
        start, end = spans(encoding)[place]
        assert encoding.token_at(start) is not None
        assert encoding.token_at(end - 1) == encoding.token_at(start)


@pytest.mark.parametrize(
    ("text", "source"), [("\u33a1 ok", 1), ("\ufb03x ok", 1), ("\u2460 ok", 1)]
)
def test_case_O05(text: str, source: int) -> None:
    """Characters that one character became share its span, and move nothing after it."""
    encoding = build(words=(" ok",), normalizer={"type": "NFKC"}).encode(text)
    for place in range(len(encoding)):
        start, end = spans(encoding)[place]
        assert (start, end) == (0, source) or start >= source
    assert encoding.text(-1) == " ok"
    assert spans(encoding)[-1] == [len(text) - 3, len(text)]


def test_case_O06() -> None:
    """Characters that were deleted inside a token are in its span, and move nothing."""
    clean = {"type": "Replace", "pattern": {"Regex": "[\\x00-\\x1f]"}, "content": ""}
    tok = build(words=("hello", " world"), normalizer=clean)
    encoding = tok.encode("he\x10llo wor\x00ld")
    assert spans(encoding) == [[0, 6], [6, 13]]
    for control in ("\x00", "\x1f\x1e", "\x01" * 9):
        text = f"he{control}llo w{control}orld"
        encoding = tok.encode(text)
        assert [encoding.text(0), encoding.text(1)] == [f"he{control}llo", f" w{control}orld"]


def test_case_O07() -> None:
    """An added token moves nothing after it."""
    tok = build(words=("left", " right", " ", "left "), added=({"content": "###"},))
    for before in FILLERS:
        encoding = tok.encode(f"{before}left ### right")
        start = len(before)
        found = [encoding.text(place) for place in range(len(encoding))]
        assert found[-2:] == ["###", " right"]
        assert spans(encoding)[-2:] == [[start + 5, start + 8], [start + 8, start + 14]]


def test_case_O09(gpt2: protok.Tokenizer) -> None:
    """Every blank has a token, and a token of blanks its true place."""
    encoding = gpt2.encode("  x  y")
    assert [encoding.token_at(place) for place in range(6)] == [0, 1, 1, 2, 3, 3]
    assert spans(encoding)[2] == [3, 4]
    for text in (" ", "   ", "\n\n x", "a \t b", "\u00a0 x"):
        encoding = gpt2.encode(text)
        assert all(encoding.token_at(place) is not None for place in range(len(text)))


def test_case_O10(llama3: protok.Tokenizer) -> None:
    """Units are named, and each is right."""
    encoding = llama3.encode("a\U0001f37ab", add_special_tokens=False)
    assert encoding.tolist() == [64, 9468, 235, 118, 65]
    assert spans(encoding) == [[0, 1], [1, 2], [1, 2], [1, 2], [2, 3]]
    assert spans(encoding, "utf16") == [[0, 1], [1, 3], [1, 3], [1, 3], [3, 4]]
    assert spans(encoding, "byte") == [[0, 1], [1, 3], [3, 4], [4, 5], [5, 6]]
    for before in FILLERS:
        text = f"{before}\U0001f37ab"
        encoding = llama3.encode(text, add_special_tokens=False)
        for place in range(len(encoding)):
            start, end = spans(encoding, "utf16")[place]
            piece = text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")
            assert piece == encoding.text(place)
    with pytest.raises(protok.InputError, match="unit"):
        encoding.spans("character")  # type: ignore[arg-type]


def test_case_O12(gpt2: protok.Tokenizer) -> None:
    """Padding on the left moves the masks with the tokens."""
    batch = gpt2.encode_batch([("hello", "world"), ("hello there", "big world")])
    assert batch[0].sequence_ids == [0, 1]
    assert spans(batch[0]) == [[0, 5], [0, 5]]
    for length in (4, 6, 9):
        padded = batch.pad(length, side="left", pad_id=0)
        for row, encoding in enumerate(batch):
            missing = length - len(encoding)
            assert padded["attention_mask"][row].tolist() == [0] * missing + [1] * len(encoding)
            assert padded["input_ids"][row].tolist() == [0] * missing + encoding.tolist()
            types = encoding.type_ids.tolist()
            assert padded["type_ids"][row].tolist() == [0] * missing + types


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zin", [[1, 3]]),
        ("zzin", [[2, 4]]),
        ("inzin", [[0, 2], [3, 5]]),
        ("\U0001f408in", [[1, 3]]),
    ],
)
def test_case_O14(text: str, expected: list[list[int]]) -> None:
    """What a model without an unknown token drops does not move what is left.

    The ids are the reference's, which drops without a word; the spans show what is missing.
    """
    tok = build(vocab={"i": 0, "n": 1, "in": 2, "p": 3, "pin": 4}, merges=[["i", "n"], ["p", "in"]])
    encoding = tok.encode(text)
    assert set(encoding.tolist()) == {2}
    assert spans(encoding) == expected


@pytest.mark.parametrize("marks", ["\u0301", "\u0301\u0323", "\u0300\u0301\u0302"])
def test_case_O15(marks: str) -> None:
    """Marks that were stripped are in the span of their letter."""
    accents = {
        "type": "Sequence",
        "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"}],
    }
    tok = build(words=("cafe", " hello"), normalizer=accents)
    for normalizer_input in (f"Cafe{marks} hello", f"Ca{marks}fe hello"):
        encoding = tok.encode(normalizer_input)
        end = 4 + len(marks)
        assert spans(encoding) == [[0, end], [end, end + 6]]
    encoding = tok.encode("Caf\u00e9 hello")
    assert spans(encoding) == [[0, 4], [4, 10]]


def test_case_O16(cl100k: protok.Tokenizer) -> None:
    """Spans agree with decoding, cut characters included."""
    ids = [74, 2928, 100, 244, 1167]
    text = cl100k.decode(ids)
    assert cl100k.encode(text).offsets[:, 0].tolist() == [0, 1, 2, 2, 3]
    assert cl100k.decode(ids[:3]) == "k \ufffd"
    assert cl100k.decode_bytes(ids[:3]).hex() == "6b20e2a7"
    cut = cl100k.encode_bytes(bytes.fromhex("6b20e2a7"))
    assert spans(cut, "byte")[-1][1] == 4
    with pytest.raises(protok.InputError, match="UTF-8"):
        _ = cut.offsets


# -- A: added tokens ------------------------------------------------------------------------------


def test_case_A01() -> None:
    """The longest added token wins, in whatever order they were registered."""
    names = ["t_1", "t_12", "t_123"]
    for order in (names, names[::-1], [names[1], names[0], names[2]]):
        tok = build(added=tuple({"content": name} for name in order))
        encoding = tok.encode("t_1 t_12 t_123t_1")
        found = [token for token in encoding.tokens if token in names]
        assert found == ["t_1", "t_12", "t_123", "t_1"]


def test_case_A03() -> None:
    """One search over special and plain added tokens: the longest wins."""
    tok = build(added=({"content": "<a>", "special": True}, {"content": "<a>b"}))
    assert tok.encode("<a>b", special="parse").tokens == ["<a>b"]
    assert tok.encode("<a>c", special="parse").tokens == ["<a>", "c"]


def test_case_A04() -> None:
    """A whole-word token respects word characters on both sides."""
    tok = build(added=({"content": "ab", "single_word": True},))
    ab = tok.added_tokens[0].id
    encoding = tok.encode("ab abb bab ab, (ab) ab_ ab1")
    found = [span for id, span in zip(encoding, spans(encoding), strict=True) if id == ab]
    assert found == [[0, 2], [11, 13], [16, 18]]
    for neighbour in ("\u00e9", "\u0436", "\u4e16", "\u0663", "_"):
        for text in (f"{neighbour}ab", f"ab{neighbour}"):
            assert ab not in tok.encode(text).tolist()


def test_case_A05() -> None:
    """A token matched in normalized text has its own id. Its name as shown is the reference's."""
    tok = build(
        words=("hello",),
        added=({"content": "HELLO", "normalized": True},),
        normalizer={"type": "Lowercase"},
    )
    new = tok.added_tokens[0].id
    assert tok.vocab.token(new) == "HELLO"
    encoding = tok.encode("hello HELLO Hello")
    assert [id for id in encoding if id >= 256] == [new] * 3
    found = [span for id, span in zip(encoding, spans(encoding), strict=True) if id == new]
    assert found == [[0, 5], [6, 11], [12, 17]]


@pytest.mark.parametrize("text", ["hello  <m>  world", "hello\n\t<m>\u00a0\u3000world"])
def test_case_A06(text: str) -> None:
    """A token that takes blanks along keeps its name, and its span shows the blanks."""
    tok = build(
        words=("hello", "world"), added=({"content": "<m>", "lstrip": True, "rstrip": True},)
    )
    encoding = tok.encode(text)
    assert encoding.tokens == ["hello", "<m>", "world"]
    assert spans(encoding) == [[0, 5], [5, 12], [12, 17]]
    assert encoding.text(1) == text[5:12]


def test_case_A07() -> None:
    """A marker is found whatever stands before it, and no mark is put into or before it."""
    tok = build(
        added=({"content": "<|ask|>", "special": True}, {"content": "<|reply|>", "special": True}),
        normalizer={"type": "Prepend", "prepend": "_"},
    )
    for before in ("", "x", " ", "\n", "hey"):
        encoding = tok.encode(f"{before}<|ask|>\nhey<|reply|>\n", special="parse")
        tokens = encoding.tokens
        assert [token for token in tokens if "|" in token] == ["<|ask|>", "<|reply|>"]
        place = tokens.index("<|ask|>")
        assert place == (len(before) + 1 if before else 0)
        assert spans(encoding)[place] == [len(before), len(before) + 7]


def test_case_A09() -> None:
    """A special token named before training has its own id, before and after saving."""
    recipe = protok.Recipe(vocab_size=270, special_tokens=("__mark__",), fewer="accept")
    tok = protok.train(recipe, ["red __mark__ tin cup"] * 3)
    again = protok.Tokenizer(tok.to_files())
    for each in (tok, again):
        encoding = each.encode("red __mark__ tin cup", special="parse")
        assert encoding.tokens.count("__mark__") == 1
        assert each.special_tokens == {"__mark__": 0}
        assert list(each.vocab.to_dict().values()).count(0) == 1


@pytest.mark.parametrize("kind", ["raise", "text", "parse"])
def test_case_A12(shared: Path, kind: Any) -> None:
    """The policy is an argument of the call, and covers what is a control token."""
    tok = build(added=({"content": "<tool>"}, {"content": "<|eot_id|>", "special": True}))
    assert tok.encode("x<tool>", special=kind).tokens == ["x", "<tool>"]
    strict = protok.Tokenizer(tok.to_files(), control_tokens=["<tool>", "<|eot_id|>"])
    for name in ("<tool>", "<|eot_id|>"):
        if kind == "raise":
            with pytest.raises(protok.SpecialTokenError):
                strict.encode(f"x{name}", special=kind)
        else:
            assert (name in strict.encode(f"x{name}", special=kind).tokens) == (kind == "parse")
    llama3 = protok.load(shared / "artifacts/llama3.1/tokenizer.json")
    as_text = llama3.encode("<|eot_id|>", special="text", add_special_tokens=False)
    assert as_text.tolist() == [27, 91, 68, 354, 851, 91, 29]


def test_case_A14(shared: Path) -> None:
    """An added word changes none of its neighbours."""
    files = (shared / "artifacts/llama3.1/tokenizer.json").read_bytes()
    document = json.loads(files)
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": True}
    new = {"id": 128256, "content": "zorbits", "special": False, **flags}
    document["added_tokens"].append(new)
    tok = protok.Tokenizer({"tokenizer.json": json.dumps(document).encode()})
    text = "our plan for zorbits today"
    encoding = tok.encode(text, add_special_tokens=False)
    assert encoding.tolist()[1:] == [3197, 369, 220, 128256, 3432]
    assert [encoding.text(place) for place in range(6)] == [
        "our", " plan", " for", " ", "zorbits", " today",
    ]  # fmt: skip
    assert tok.decode(encoding) == text
