"""Faults that other software had in models and normalizers, and their whole kind.

Named after the collected cases.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from small_artifacts import (
    CONTROL,
    USER_DEFINED,
    load,
    metaspace,
    pieces,
    sentencepiece,
    train_sentencepiece,
    unigram,
)

import protok

MARK = "\u2581"


@pytest.fixture(scope="module")
def qwen3(shared: Path) -> protok.Tokenizer:
    return protok.load(shared / "artifacts/qwen3/tokenizer.json")


def ids(tok: protok.Tokenizer, text: str) -> list[int]:
    return tok.encode(text, add_special_tokens=False).tolist()


def agrees(model: bytes, text: str) -> list[str]:
    """Encode with protok and with SentencePiece: the same ids, and the pieces."""
    library = pytest.importorskip("sentencepiece")
    reference = library.SentencePieceProcessor(model_proto=model)
    tok = protok.load(model)
    encoding = tok.encode(text)
    assert encoding.tolist() == reference.encode(text)
    assert tok.decode(encoding) == reference.decode(reference.encode(text))
    return encoding.tokens


# -- U: Unigram ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zaaa", [MARK, "z", "a", "aa"]),
        ("aaaaa", [MARK, "a", "aa", "aa"]),
        ("zaaaaazaaa", [MARK, "z", "a", "aa", "aa", "z", "a", "aa"]),
    ],
)
def test_case_U01(text: str, expected: list[str]) -> None:
    """Ties go the same way in both implementations, and here."""
    scores = ((MARK, -2.0), ("a", -3.0), ("aa", -4.0), ("z", -3.0))
    assert agrees(sentencepiece(*scores), text) == expected
    component = metaspace("always")
    tok = load(unigram(*scores), pre_tokenizer=component, decoder=component)
    assert tok.encode(text).tokens == expected


def test_case_U03() -> None:
    """A user-defined piece is one piece, and is not normalized."""
    lines = ["at <NUM> km at ten km", "stra\u00dfe at"] * 20
    model = train_sentencepiece(
        lines, vocab_size=22, user_defined_symbols=["<NUM>"], normalization_rule_name="nmt_nfkc_cf"
    )
    assert agrees(model, "at <NUM> km") == [MARK + "at", MARK, "<NUM>", MARK + "km"]
    found = agrees(model, "AT <NUM><num><NUM>")
    assert found.count("<NUM>") == 2
    assert found[0] == MARK + "at"
    assert protok.load(model).encode("AT <NUM>").normalized == f"{MARK}at{MARK}<NUM>"


def test_case_U04() -> None:
    """A user-defined piece is found in the text, a control piece is not."""
    letters = dict.fromkeys(f"{MARK}xy<ctl>ud")
    model = sentencepiece(
        ("<ud>", 0.0, USER_DEFINED), ("<ctl>", 0.0, CONTROL), *((char, -5.0) for char in letters)
    )
    expected = [MARK, "x", "<ud>", "y", MARK, "<ud>", MARK, "<", "c", "t", "l", ">"]
    assert agrees(model, "x<ud>y <ud> <ctl>") == expected
    tok = protok.load(model)
    for special in ("raise", "text"):
        encoding = tok.encode("<ctl></s><s>", special=special)
        assert not {tok.vocab[name] for name in ("<ctl>", "</s>", "<s>")} & set(encoding.tolist())
    x, y = tok.vocab["x"], tok.vocab["y"]
    assert tok.decode([x, tok.vocab["<ctl>"], y]) == "xy"
    assert tok.decode([x, tok.vocab["<ud>"], y]) == "x<ud>y"


def test_case_U06(shared: Path) -> None:
    """White space, deletions and compatibility forms as SentencePiece normalizes them."""
    path = shared / "artifacts/t5-base/spiece.model"
    tok = protok.load(path.read_bytes())
    expected = {
        "a\u200bb": f"{MARK}a{MARK}b",
        "\u007fa": f"{MARK}a",
        "\u0000a": f"{MARK}\u0000a",
        "a  b ": f"{MARK}a{MARK}b",
        " ": "",
        "\u3000": "",
        "\ufb01n": f"{MARK}fin",
        "\uff21\uff22": f"{MARK}AB",
    }
    for text, normalized in expected.items():
        assert tok.encode(text).normalized == normalized
    library = pytest.importorskip("sentencepiece")
    reference = library.SentencePieceProcessor(model_file=str(path))
    for char in map(chr, [*range(0x700), *range(0x1F00, 0x2200), *range(0x3000, 0x3100)]):
        for text in (char, f"a{char}b", f"{char} {char}"):
            assert tok.encode(text).normalized == reference.normalize(text), text


def test_case_U07() -> None:
    """A model that normalizes nothing leaves full-width letters."""
    lines = ["\uff21 x \uff21 y", "x y"] * 20
    model = train_sentencepiece(lines, vocab_size=10, normalization_rule_name="identity")
    assert agrees(model, "\uff21 x") == [MARK, "\uff21", MARK, "x"]
    for text in ("\ufb01 x", "x\u00a0y", "e\u0301", "  x  y "):
        agrees(model, text)


def test_case_U08() -> None:
    """A piece may hold blanks."""
    words = [f"{MARK}{word}" for word in ("as", "if", "by", "x")]
    model = sentencepiece(("".join(words[:3]), -1.0), *((word, -2.0) for word in words))
    assert agrees(model, "as if by x") == ["".join(words[:3]), f"{MARK}x"]
    assert agrees(model, "as if x by") == [words[0], words[1], words[3], words[2]]


# -- B: BPE -------------------------------------------------------------------------------------


def test_case_B01(shared: Path, llama3: protok.Tokenizer) -> None:
    """Whole pieces of the vocabulary are looked up before merging, from either file."""
    expected = {" stejn\u011b": [110120], " odbor": [110107], "\u00e1tku": [110150]}
    ranks = protok.load(shared / "artifacts/llama3.1/tokenizer.model")
    for text, found in expected.items():
        assert ids(llama3, text) == ids(ranks, text) == found
    assert llama3.vocab.token(110107) == "Ġodbor"


@pytest.mark.parametrize("text", ["a\u20aca", "\u20ac", "a\u20ac\u20aca", "\u20aca"])
def test_case_B03(text: str) -> None:
    """A character of which a byte is missing is unknown as a whole."""
    model = {
        "type": "BPE",
        "vocab": {"<unk>": 0, "a": 1, "<0xE2>": 2, "<0x82>": 3},
        "merges": [],
        "unk_token": "<unk>",
        "byte_fallback": True,
    }
    expected = [("a" if char == "a" else "<unk>", (at, at + 1)) for at, char in enumerate(text)]
    assert pieces(load(model).encode(text)) == expected


def test_case_B04() -> None:
    """Unknown characters in a row are one token where the artifact fuses them, else several."""
    vocab = {"[UNK]": 0, "i": 1, "n": 2, "in": 3, "p": 4, "pin": 5}
    merges = [["i", "n"], ["p", "in"]]
    words = {"type": "WhitespaceSplit"}
    found = {}
    for fuse in (True, False):
        model = {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "[UNK]"}
        tok = load({**model, "fuse_unk": fuse}, pre_tokenizer=words)
        found[fuse] = pieces(tok.encode("zzin zz"))
    assert found[True] == [("[UNK]", (0, 2)), ("in", (2, 4)), ("[UNK]", (5, 7))]
    assert [span for _, span in found[False]] == [(0, 1), (1, 2), (2, 4), (5, 6), (6, 7)]


def merged(ranks: dict[bytes, int], word: bytes) -> list[int]:
    """Merge the pair of lowest rank, the first of several, until none is left."""
    parts = [word[at : at + 1] for at in range(len(word))]
    while len(parts) > 1:
        found = [ranks.get(a + b, -1) for a, b in itertools.pairwise(parts)]
        known = [(rank, at) for at, rank in enumerate(found) if rank >= 0]
        if not known:
            break
        at = min(known)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [ranks[part] for part in parts]


def test_case_B05(shared: Path, cl100k: protok.Tokenizer, qwen3: protok.Tokenizer) -> None:
    """Merging in order of rank, against a naive loop over ten thousand words."""
    assert [ids(cl100k, text) for text in ("minimalist", " minimalist")] == [[93707, 380], [72770]]
    assert [ids(qwen3, text) for text in ("minimalist", " minimalist")] == [[92607, 380], [71670]]
    book = (shared / "corpus/prose/en/the-origin-of-species.txt").read_text("utf-8")
    more = (shared / "corpus/prose/en/moby-dick.txt").read_text("utf-8")
    words = sorted(set(re.findall("[A-Za-z]+", book + more)))[:10_000]
    assert len(words) == 10_000
    for tok in (cl100k, qwen3):
        size = tok.vocab.size
        control = {token.id for token in tok.added_tokens}
        ranks = {
            tok.vocab.bytes(id): id for id in range(size) if id not in control and held(tok, id)
        }
        for text in [*words, *(f" {word}" for word in words)]:
            assert ids(tok, text) == merged(ranks, text.encode()), text


def held(tok: protok.Tokenizer, id: int) -> bool:
    """Tell whether an id is in the vocabulary, which may have holes."""
    try:
        tok.vocab.bytes(id)
    except protok.ProtokError:
        return False
    return True


def test_case_B06(cl100k: protok.Tokenizer) -> None:
    """From ranks or from merges: each entry that is text and one piece encodes to itself."""
    expected = {"  ": [256], "   ": [262], "\t\t\t": [573], "a   b": [64, 256, 293]}
    converted = protok.Tokenizer(cl100k.to_files("huggingface"))
    entries = {}
    control = {token.id for token in cl100k.added_tokens}
    for id in range(cl100k.vocab.size):
        if id in control or not held(cl100k, id):
            continue
        try:
            entries[cl100k.vocab.bytes(id).decode("utf-8")] = id
        except UnicodeDecodeError:
            continue
    assert len(entries) > 90_000
    for tok in (cl100k, converted):
        assert {text: ids(tok, text) for text in expected} == expected
        batch = tok.encode_batch(list(entries), special="text", add_special_tokens=False)
        alone = 0
        for id, encoding in zip(entries.values(), batch, strict=True):
            if len(encoding) == 1:
                assert encoding[0] == id
                alone += 1
            else:
                assert len(set(encoding.word_ids)) > 1
        assert alone > 90_000


def test_case_B07(cl100k: protok.Tokenizer, qwen3: protok.Tokenizer) -> None:
    """Digits are cut as each artifact cuts them; groups from the right are a pattern away."""
    texts = ("1234567", "1,234.50", "\u0661\u0662\u0663\u0664", "\u00bd")
    arabic = [149, 94, 149, 95, 149, 96, 149, 97]
    assert [ids(cl100k, text) for text in texts] == [
        [4513, 10961, 22], [16, 11, 11727, 13, 1135], arabic, [27154],
    ]  # fmt: skip
    assert [ids(qwen3, text) for text in texts] == [
        [16, 17, 18, 19, 20, 21, 22], [16, 11, 17, 18, 19, 13, 20, 15], arabic, [26062],
    ]  # fmt: skip
    groups = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"
    split = {"type": "Split", "pattern": {"Regex": groups}, "behavior": "Isolated", "invert": False}
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    tok = load(model, pre_tokenizer=split)
    for text in ("1234567", "12", "123456", "x1234"):
        encoding = tok.encode(text)
        cut = "|".join(encoding.text(place) for place in range(len(encoding)))
        digits = text.lstrip("x")
        assert cut == ("x|" if text[0] == "x" else "") + f"{int(digits):,}".replace(",", "|")


def test_case_B08(cl100k: protok.Tokenizer) -> None:
    """Composed and decomposed text stay what they are."""
    composed, decomposed = "\uc11c\uc6b8", "\u1109\u1165\u110b\u116e\u11af"
    assert ids(cl100k, composed) == [27796, 15269, 116]
    assert ids(cl100k, decomposed) == [
        157, 226, 231, 157, 227, 98, 157, 226, 233, 157, 227, 106, 157, 228, 107,
    ]  # fmt: skip
    for text in (composed, decomposed, "e\u0301", "\u00e9", "q\u0307\u0323"):
        assert cl100k.decode(ids(cl100k, text)) == text


def test_case_B09(llama3: protok.Tokenizer) -> None:
    """Encodings of two texts, put together, are not the encoding of both together."""
    together = {
        ("wo", "rld"): ([1146, 81, 509], [14957]),
        ("a\n", "\nb"): ([64, 198, 198, 65], [64, 271, 65]),
        ("12", "34"): ([717, 1958], [4513, 19]),
    }
    for (left, right), (apart, whole) in together.items():
        assert ids(llama3, left) + ids(llama3, right) == apart
        assert ids(llama3, left + right) == whole
        assert llama3.decode(apart) == llama3.decode(whole) == left + right


def test_case_B11(cl100k: protok.Tokenizer, qwen3: protok.Tokenizer) -> None:
    """Marks, invisible characters and typographic apostrophes are cut as the pattern says."""
    expected: dict[str, tuple[list[int], list[int]]] = {
        "\u05d0\u05b0": ([58510, 146, 108], [59610, 146, 108]),
        "\ufeffhi": ([3225, 6023], [3305, 6151]),
        "\u00a0x": ([4102, 87], [4194, 87]),
        "x\u200by": ([87, 15692, 88], [87, 16067, 88]),
        "a\r\nb": ([64, 319, 65], [64, 319, 65]),
        "don\u2019t": ([15007, 1405], [15357, 1431]),
    }
    for text, (of_qwen3, of_cl100k) in expected.items():
        assert ids(qwen3, text) == of_qwen3
        assert ids(cl100k, text) == of_cl100k
        assert cl100k.decode(of_cl100k) == text


def test_longest_match_and_merges_differ() -> None:
    """One vocabulary, two models: merges in order of rank, and the longest match."""
    words = ("a", "b", "c", "ab", "bc")
    vocab = {word: id for id, word in enumerate(("[UNK]", *words))}
    merges = [["b", "c"], ["a", "b"]]
    replayed = load({"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "[UNK]"})
    greedy_model: dict[str, Any] = {
        "type": "WordPiece",
        "vocab": vocab,
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "",
        "max_input_chars_per_word": 100,
    }
    greedy = load(greedy_model)
    assert replayed.encode("abc").tokens == ["a", "bc"]
    assert greedy.encode("abc").tokens == ["ab", "c"]
    assert replayed.encode("abx").tokens == ["ab", "[UNK]"]
    assert greedy.encode("abx").tokens == ["[UNK]"]
    assert json.loads(greedy.describe())["model"]["type"] == "WordPiece"
