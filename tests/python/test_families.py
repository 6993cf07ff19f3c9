"""Where the families differ on one text, and where they must not: control tokens in text."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import protok
from protok import _core

PLAIN: dict[str, Any] = {
    "version": "1.0",
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": None,
    "post_processor": None,
    "decoder": {"type": "Fuse"},
}
BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}
# Those with control tokens, by path; for rank files with the name of the encoding.
ARTIFACTS = {
    **dict.fromkeys(
        (
            "albert", "bert-base-cased", "claude-old", "clip", "deepseek-v3", "gemma3", "gpt-oss",
            "gpt2", "llama3.1", "minilm-bert-uncased", "mistral-v0.1", "qwen3",
            "roberta-robbert-1k", "t5-base", "xlmr-like-1k",
            "albert/spiece.model", "t5-base/spiece.model", "mistral-v0.1/tokenizer.model.v1",
            "xlmr-like-1k/sentencepiece.bpe.model", "llama3.1/tokenizer.model",
            "whisper/multilingual.tiktoken", "mistral-tekken/tekken_240718.json",
            "minilm-bert-uncased/vocab.txt",
        )
    ),
    **dict.fromkeys(
        f"sentencepiece/{name}.model"
        for name in (
            "bpe_toy_uds", "llama2_bpe_bytefallback", "mistral_v3", "unigram_8k_ja_nfkc",
            "unigram_bytefallback_toy", "word_toy",
        )
    ),
    **dict.fromkeys(
        f"toy/{name}.json"
        for name in (
            "bpe_bytefallback", "bpe_metaspace_first", "flags_bytelevel", "template_multi",
            "trunc_pad",
        )
    ),
    **dict.fromkeys(
        f"gguf/ggml-vocab-{name}.gguf"
        for name in ("bert-bge", "deepseek-coder", "falcon", "llama-spm", "phi-3")
    ),
    **{
        f"tiktoken/{name}.tiktoken": name
        for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")
    },
}  # fmt: skip
TEXTS = 80
LONGEST = 12  # parts of a text


def load(model: dict[str, Any], **components: Any) -> protok.Tokenizer:
    return protok.load(json.dumps({**PLAIN, **components, "model": model}).encode())


def bpe(tokens: list[str], merges: list[str], **options: Any) -> dict[str, Any]:
    vocab = {token: id for id, token in enumerate(tokens)}
    return {"type": "BPE", "vocab": vocab, "merges": merges, **options}


def greedy(tokens: list[str], folder: Path) -> protok.Tokenizer:
    """Return the longest-match tokenizer over a vocabulary, as RWKV has it."""
    path = folder / "rwkv_vocab.txt"
    rows = (f"{id} {token!r} {len(token.encode())}" for id, token in enumerate(tokens))
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return protok.load(path)


# -- merges and longest match ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "merged", "longest"),
    [
        ("abc", ["a", "bc"], ["ab", "c"]),
        ("abcd", ["a", "bc", "d"], ["abcd"]),
        ("xabcabc", ["x", "a", "bc", "a", "bc"], ["x", "ab", "c", "ab", "c"]),
        # Where no other merge is in the way they agree.
        ("abab", ["ab", "ab"], ["ab", "ab"]),
        ("bcx", ["bc", "x"], ["bc", "x"]),
    ],
)
def test_merges_replayed_and_the_longest_match(
    tmp_path: Path, text: str, merged: list[str], longest: list[str]
) -> None:
    tokens = ["a", "b", "c", "d", "x", "bc", "ab", "cd", "abcd"]
    merges = ["b c", "a b", "ab cd"]
    by_merges = load(bpe(tokens, merges))
    by_length = greedy(tokens, tmp_path)
    assert by_merges.encode(text).tokens == merged
    assert by_length.encode(text).tokens == longest
    assert by_merges.decode(by_merges.encode(text)) == text
    assert by_length.decode(by_length.encode(text)) == text


def test_longest_match_on_the_vocabulary_of_gpt2(gpt2: protok.Tokenizer, tmp_path: Path) -> None:
    """On real words the two differ now and then; both give the text back."""
    alphabet = _core.BYTE_ALPHABET
    to_byte = {char: byte for byte, char in enumerate(alphabet)}
    entries = [
        (id, bytes(to_byte[char] for char in token))
        for token, id in gpt2.vocab.to_dict().items()
        if token != "<|endoftext|>"
    ]
    path = tmp_path / "rwkv_vocab.txt"
    path.write_text("".join(f"{id} {token!r} {len(token)}\n" for id, token in entries), "utf-8")
    longest = protok.load(path)
    pieces = {
        " tokenization": ([" token", "ization"], [" token", "ization"]),
        " unbelievable": ([" unbelievable"], [" unbelievable"]),
        " antidisestablishmentarianism": (
            [" ant", "idis", "establishment", "arian", "ism"],
            [" antid", "ises", "tab", "lish", "ment", "arian", "ism"],
        ),
    }
    for word, (replayed, matched) in pieces.items():
        by_merges, by_length = gpt2.encode(word), longest.encode(word)
        assert [by_merges.text(index) for index in range(len(by_merges))] == replayed
        assert by_length.tokens == matched
        assert gpt2.decode(by_merges) == longest.decode(by_length) == word


# -- unknown text -------------------------------------------------------------------------------


def test_what_is_unknown_to_each_family() -> None:
    vocab = ["[UNK]", "h", "u", "g", "hug", "##g", "##s"]
    word_piece = load(
        {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {token: id for id, token in enumerate(vocab)},
        },
        pre_tokenizer={"type": "WhitespaceSplit"},
    )
    # One place without a piece makes the whole word unknown, however much of it would fit.
    assert word_piece.encode("hugs hugz hug").tokens == ["hug", "##s", "[UNK]", "hug"]
    assert word_piece.encode("hugz").text(0) == "hugz"

    characters = bpe(["[UNK]", "h", "u", "g", "s", "hu", "hug"], ["h u", "hu g"], unk_token="[UNK]")
    by_character = load(characters)
    assert by_character.encode("hugz").tokens == ["hug", "[UNK]"]
    assert by_character.encode("zzhug").tokens == ["[UNK]", "[UNK]", "hug"]
    assert by_character.encode("ug").tokens == ["u", "g"]

    alphabet = list(_core.BYTE_ALPHABET)
    by_byte = load(
        bpe([*alphabet, "hu", "hug"], ["h u", "hu g"]), pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL
    )
    text = "hugz 🐈 \u0378"
    encoding = by_byte.encode(text)
    assert encoding.tokens[:2] == ["hug", "z"]
    assert by_byte.decode(encoding) == text
    assert by_byte.inspect().unknown is None


# -- control tokens in text ---------------------------------------------------------------------


def control_texts(names: list[str], source: random.Random) -> list[str]:
    """Make texts of the spellings of control tokens, whole, cut, doubled and dressed up."""
    texts = []
    for _ in range(TEXTS):
        parts = []
        for _ in range(source.randrange(1, LONGEST)):
            name = source.choice(names)
            cut = source.randrange(len(name) + 1)
            parts.append(
                source.choice(
                    (
                        name,
                        name,
                        name[:cut],
                        name[cut:],
                        name[:cut] + name + name[cut:],
                        name.replace("\u2581", " "),
                        name.upper(),
                        " ",
                        "\u2581",
                        "a",
                        "\n",
                        "中",
                    )
                )
            )
        texts.append("".join(parts))
    return [*names[:200], *(f" {name} " for name in names[:200]), *texts]


@pytest.mark.parametrize("name", ARTIFACTS)
def test_text_never_yields_a_control_token(shared: Path, name: str) -> None:
    tok = protok.load(shared / "artifacts" / name, encoding=ARTIFACTS[name])
    inspection = tok.inspect() if tok.vocab.size < 50_000 else None
    unknown = {inspection.unknown[0]} if inspection and inspection.unknown else set()
    if inspection is None and "unk" in tok.roles:
        unknown = {tok.vocab[tok.roles["unk"]]}
    control = {token.id for token in tok.control_tokens} - unknown
    names = [token.content for token in tok.control_tokens]
    assert control
    texts = control_texts(names, random.Random(name))  # the Mersenne Twister
    for text in texts:
        ids = tok.encode(text, add_special_tokens=False, special="text")
        assert not control & set(ids), text
    batch = tok.encode_batch(texts, add_special_tokens=False, special="text")
    assert not control & set(batch.values.tolist())
    # The same texts, parsed, do have them, so the test can fail.
    parsed = tok.encode_batch(names[:200], add_special_tokens=False, special="parse")
    matched = {token.id for token in tok.added_tokens} & control
    assert bool(matched & set(parsed.values.tolist())) is bool(matched)


def test_a_unigram_vocabulary_that_holds_a_control_token(shared: Path) -> None:
    tok = protok.load(shared / "artifacts/t5-base/tokenizer.json")
    end = tok.vocab["</s>"]
    assert (end, "</s>") in tok.inspect().oddities["control_pieces"]
    ids = tok.encode("a </s> b", add_special_tokens=False, special="text").tolist()
    assert end not in ids
    assert tok.decode(ids).replace(" ", "") in {"a</s>b", "a<unk>/s>b"}
    with pytest.raises(protok.SpecialTokenError):
        tok.encode("a </s> b")
    assert end in tok.encode("a </s> b", special="parse", add_special_tokens=False).tolist()
