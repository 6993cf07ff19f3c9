"""Faults that other software had when it turned ids back into text, and their whole kind.

Named after the collected cases. Where a case asks for what the artifact's own implementation does
not do, the test has the implementation's text, and says so: the artifact decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_artifacts import FLAGS, bert, load, metaspace, sentencepiece, unigram, wordpiece

import protok


@pytest.fixture(scope="module")
def mistral(shared: Path) -> protok.Tokenizer:
    return protok.load((shared / "artifacts/mistral-v0.1/tokenizer.model.v1").read_bytes())


@pytest.fixture(scope="module")
def mistral_json(shared: Path) -> protok.Tokenizer:
    return protok.load(shared / "artifacts/mistral-v0.1/tokenizer.json")


@pytest.fixture(scope="module")
def t5(shared: Path) -> protok.Tokenizer:
    return protok.load((shared / "artifacts/t5-base/spiece.model").read_bytes())


def test_case_D01(cl100k: protok.Tokenizer, llama3: protok.Tokenizer) -> None:
    """Nothing is cleaned up behind the back: blanks before punctuation stay."""
    expected = {
        "wait ?": [11748, 949],
        " !": [758],
        'i <= j , "k" .': [72, 2717, 503, 1174, 330, 74, 1, 662],
    }
    for tok in (cl100k, llama3):
        for text, ids in expected.items():
            assert tok.encode(text, add_special_tokens=False).tolist() == ids
            assert tok.decode(ids) == text
        for text in ("do n't", "a 's b 've", " . . , ?", "x  ,y", "it 'm"):
            assert tok.decode(tok.encode(text, add_special_tokens=False)) == text


def test_case_D02() -> None:
    """Clean-up is the artifact's choice: without it nothing is rewritten.

    Where the decoder of the artifact says clean-up, the text is the reference's, which drops the
    blank before the full stop too; the case's own expectation is the one without.
    """
    words = ("do", "##n", "'", "t", "go", ".", "i", "'m")
    ids = list(range(1, 9))
    texts = {}
    for cleanup in (False, True):
        decoder = {"type": "WordPiece", "prefix": "##", "cleanup": cleanup}
        texts[cleanup] = load(wordpiece(*words), decoder=decoder).decode(ids)
    assert texts == {False: "don ' t go . i 'm", True: "don ' t go. i'm"}


def test_case_D04(shared: Path, mistral: protok.Tokenizer, mistral_json: protok.Tokenizer) -> None:
    """Leading blanks come back from Llama's family.

    A Metaspace component that prepends only where no blank stands loses one: its decoder, the
    reference's, cannot know. Its text is pinned as it is.
    """
    folder = shared / "artifacts/sentencepiece"
    llama2 = protok.load((folder / "llama2_bpe_bytefallback.model").read_bytes())
    texts = ["  hi", "    x = 1", "\thi", " hi", "hi", "   ", "\n  hi"]
    for tok in (mistral, mistral_json, llama2):
        for text in texts:
            assert tok.decode(tok.encode(text, add_special_tokens=False)) == text
    model = unigram(*((char, -8.0) for char in "\u2581hix=1\t"))
    for scheme in ("always", "first"):
        component = metaspace(scheme)
        tok = load(model, pre_tokenizer=component, decoder=component)
        decoded = [tok.decode(tok.encode(text)) for text in ("  hi", "    x = 1", "\thi", "hi")]
        assert decoded == [" hi", "   x = 1", "\thi", "hi"]


def test_case_D05(mistral: protok.Tokenizer) -> None:
    """Blanks and line ends come back exactly, and have the ids of SentencePiece."""
    expected: dict[str, list[int]] = {
        "Good": [5801],
        " Good": [28705, 5801],
        "  Good": [259, 5801],
        "    Good\n    Good": [260, 5801, 13, 2287, 5801],
        "": [],
        "\t": [28705, 12],
    }
    for text, ids in expected.items():
        assert mistral.encode(text, add_special_tokens=False).tolist() == ids
        assert mistral.decode(ids) == text


def test_case_D06(mistral: protok.Tokenizer) -> None:
    """Tokens decoded one by one lose their blank, together they do not."""
    encoding = mistral.encode("we eat rice", add_special_tokens=False)
    assert encoding.tolist() == [478, 5310, 13825]
    assert mistral.decode(encoding) == mistral.decode_batch([encoding])[0] == "we eat rice"
    assert "".join(mistral.decode([id]) for id in encoding) == "weeatrice"
    # The raw piece says that there is one.
    assert [mistral.vocab.token(id) for id in encoding] == ["\u2581we", "\u2581eat", "\u2581rice"]


@pytest.mark.parametrize("unknown", ["zz", "z", "\U0001f408", "\u4e16\u754c", "q\u0301"])
def test_case_D07(unknown: str) -> None:
    """An unknown stretch is told with its text, and the spans restore what decoding cannot."""
    tok = protok.load(sentencepiece(("\u2581", -2.0), ("x", -3.0), ("y", -3.0)))
    text = f"x{unknown}y"
    encoding = tok.encode(text)
    assert encoding.tokens == ["\u2581", "x", unknown, "y"]
    assert encoding.text(2) == unknown
    assert encoding[2] == tok.vocab["<unk>"]
    assert tok.decode(encoding) == "x \u2047 y"
    assert "".join(encoding.text(place) for place in range(len(encoding))) == text


@pytest.mark.parametrize("ids", [[4151, 9999999, 499], [4151, 100277]])
def test_case_D09(cl100k: protok.Tokenizer, mistral: protok.Tokenizer, ids: list[int]) -> None:
    """An unknown id raises, with its position and value; it is skipped only where that is said."""
    for tok in (cl100k, mistral):
        with pytest.raises(protok.UnknownIdError) as caught:
            tok.decode(ids)
        assert caught.value.position == 1
        assert caught.value.value == str(ids[1])
        known = [id for id in ids if id < 100_000 and id < tok.vocab.size]
        assert tok.decode(ids, unknown="skip") == tok.decode(known)
        for policy in ("raise", "skip"):
            with pytest.raises(protok.UnknownIdError, match="negative"):
                tok.decode([-1], unknown=policy)


def test_case_D10(t5: protok.Tokenizer) -> None:
    """What a lossy normalizer makes of a text is told, and where it first changed it."""
    expected = {
        "\ufe30": "\u2581..",
        "\u2026": "\u2581...",
        "a\tb\nc": "\u2581a\u2581b\u2581c",
        "\u3000x": "\u2581x",
    }
    for text, normalized in expected.items():
        encoding = t5.encode(text)
        assert encoding.normalized == normalized
        assert t5.decode(encoding) != text
    encoding = t5.encode("a\tb\nc")
    first = {"from_": ("codepoint", "original"), "to": ("codepoint", "normalized")}
    low, high = encoding.convert((1, 2), **first)  # type: ignore[arg-type]
    assert encoding.normalized[low:high] == "\u2581"
    assert t5.decode(t5.encode("plain words")) == "plain words"


def test_case_D11(cl100k: protok.Tokenizer) -> None:
    """Truncation keeps whole tokens, and their bytes even where they end inside a character."""
    text = "night \U0001f319"
    assert cl100k.encode(text).tolist() == [9471, 11410, 234, 247]
    encoding = cl100k.encode(text, max_length=2)
    assert encoding.tolist() == [9471, 11410]
    assert cl100k.decode_bytes(encoding).hex() == "6e6967687420f09f"
    assert cl100k.decode(encoding) == "night \ufffd"
    # The last whole character before the cut: where the cut token's bytes stop being text.
    assert cl100k.decode_bytes(encoding).decode("utf-8", errors="ignore") == "night "


def test_case_D12(mistral_json: protok.Tokenizer, llama3: protok.Tokenizer) -> None:
    """One text or many, a control token in the text decodes the same.

    The case wants the text back. Of this artifact the reference puts the blank of a new section
    behind the control token, and that is its text; a byte-level one gives the text back.
    """
    for tok, text, decoded in (
        (mistral_json, "end</s>NEXT", "end</s> NEXT"),
        (llama3, "end<|eot_id|>NEXT", "end<|eot_id|>NEXT"),
    ):
        alone = tok.encode(text, special="parse", add_special_tokens=False)
        batch = tok.encode_batch([text, text], special="parse", add_special_tokens=False)
        assert batch[0] == batch[1] == alone
        assert tok.decode(alone) == decoded
        assert tok.decode_batch(batch) == [decoded] * 2
        again = protok.Tokenizer(tok.to_files())
        assert again.encode(text, special="parse", add_special_tokens=False) == alone
        assert again.decode(alone) == decoded


@pytest.mark.parametrize("family", ["bert", "metaspace"])
def test_case_D13(family: str, llama3: protok.Tokenizer) -> None:
    """A special token of one's own is skipped like any other."""
    note: dict[str, Any] = {**FLAGS, "content": "[NOTE]", "special": True}
    component = metaspace("first")
    tok = {
        "bert": lambda: bert("ok", added=[note]),
        "metaspace": lambda: load(
            unigram(("\u2581ok", -1.0), ("\u2581", -2.0)),
            added_tokens=[{**note, "id": 3}],
            pre_tokenizer=component,
            decoder=component,
        ),
    }[family]()
    encoding = tok.encode("[NOTE] ok", special="parse")
    assert encoding.tokens[0] == "[NOTE]"
    assert tok.decode(encoding, skip_special_tokens=True).strip() == "ok"
    assert "[NOTE]" in tok.decode(encoding)
    assert "[NOTE]" not in llama3.decode(
        llama3.encode("<|eot_id|> ok", special="parse"), skip_special_tokens=True
    )


@pytest.mark.parametrize(
    ("scheme", "tokens", "decoded"),
    [
        ("first", ["wxyz", "jam"], ["wxyzjam", "hi wxyzjam"]),
        # The reference marks every section, so it has a blank that the text has not.
        ("always", ["wxyz", "\u2581jam"], ["wxyz jam", "hi wxyz jam"]),
    ],
)
def test_case_A13(scheme: str, tokens: list[str], decoded: list[str]) -> None:
    """An added word before a piece: "first" gives the text back, "always" what it says."""
    pieces = [("\u2581", -5.0), ("\u2581jam", -4.0), ("jam", -4.5), ("\u2581hi", -3.0)]
    vocab = unigram(*pieces, *((char, -8.0) for char in "wxyzjamhi"))
    added = {**FLAGS, "id": len(vocab["vocab"]), "content": "wxyz", "normalized": True}
    component = metaspace(scheme)
    tok = load(
        vocab,
        added_tokens=[{**added, "special": False}],
        pre_tokenizer=component,
        decoder=component,
    )
    assert tok.encode("wxyzjam").tokens == tokens
    for text, expected in zip(("wxyzjam", "hi wxyzjam"), decoded, strict=True):
        encoding = tok.encode(text)
        assert tok.decode(encoding) == expected
        # Whatever decoding adds, the spans do not.
        assert "".join(encoding.text(place) for place in range(len(encoding))) == text
