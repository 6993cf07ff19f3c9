"""Word, character and byte models: the teaching text, lists, and Hugging Face's reading of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

import protok

MAT = (
    "the cat sat on the mat and the dog sat on the log and the cat saw the dog "
    "then the dog ran to the cat and the cat ran on the mat"
)
# As special tokens they give bytes the ids of ByT5.
BYT5 = ("<pad>", "</s>", "<unk>")
TEXTS = (
    "",
    "the cat sat on the rug",
    "  The  cat's\tmat,\n3.14 — naïve café ",
    "東京 🐈 e\u0301 \u200b",
    "then the dog",
)


def words(**options: Any) -> protok.Tokenizer:
    return protok.train(protok.Recipe(model="word", **options), [MAT])


def hugging_face(tok: protok.Tokenizer, tmp_path: Path) -> tokenizers.Tokenizer:
    tok.save(tmp_path)
    return tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))


def same_ids(tok: protok.Tokenizer, tmp_path: Path) -> None:
    other = hugging_face(tok, tmp_path)
    for text in TEXTS:
        encoding, expected = tok.encode(text), other.encode(text)
        assert encoding.tolist() == expected.ids, text
        decoded = other.decode(expected.ids, skip_special_tokens=False)
        assert tok.decode(encoding) == decoded, text


# -- words --------------------------------------------------------------------------------------


def test_the_words_of_the_teaching_text(shared: Path) -> None:
    worked = json.loads((shared / "corpus/worked/d_cat_mat.json").read_text("utf-8"))
    recipe = protok.Recipe(model="word", order="spelling", unk_token="<unk>")
    tok = protok.train(recipe, [worked["text"]])
    assert len(tok.vocab) == worked["distinct_words"] + 1
    assert tok.count(worked["text"]) == worked["words"]


def test_a_word_that_is_unknown() -> None:
    tok = words(order="spelling", unk_token="<unk>")
    names = ["and", "cat", "dog", "log", "mat", "on", "ran", "sat", "saw", "the", "then", "to"]
    assert list(tok.vocab) == [*names, "<unk>"]
    encoding = tok.encode("the cat sat on the rug")
    assert encoding.tolist() == [9, 1, 7, 5, 9, 12]
    assert encoding.text(5) == "rug"
    assert tok.decode(encoding) == "the cat sat on the <unk>"


def test_three_unknown_words_show_the_loss() -> None:
    tok = words(order="spelling", unk_token="<unk>")
    encoding = tok.encode("the bird flew over the mat")
    assert encoding.tolist() == [9, 12, 12, 12, 9, 4]
    assert tok.decode(encoding) == "the <unk> <unk> <unk> the mat"
    # Other words leave the same ids: what was said cannot be told any more.
    assert tok.encode("the fish swam under the mat") == encoding
    loss = next(loss for loss in tok.inspect().contract.losses if loss.stage == "model")
    assert loss.cause == "gives <unk> for what the vocabulary lacks"


def test_without_an_unknown_token_such_text_is_refused() -> None:
    tok = words()
    assert tok.count("the cat") == 2
    with pytest.raises(protok.ProtokError, match="unknown token"):
        tok.encode("the rug")


@pytest.mark.parametrize("vocab_size", [None, 9, 40])
@pytest.mark.parametrize("min_frequency", [0, 2])
def test_words_are_those_of_hugging_faces_trainer(
    vocab_size: int | None, min_frequency: int
) -> None:
    special = ["<pad>", "<unk>"]
    corpus = [MAT, "The cat's mat, the CAT's mat!", "naïve café — 東京 東京 🐈"] * 3 + ["once only"]
    tok = protok.train(
        protok.Recipe(
            model="word",
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=tuple(special),
            unk_token="<unk>",
        ),
        corpus,
    )
    other = tokenizers.Tokenizer(models.WordLevel(unk_token="<unk>"))
    other.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocab_size or 30_000, min_frequency=min_frequency, special_tokens=special
    )
    other.train_from_iterator(corpus, trainer)
    assert tok.vocab.to_dict() == other.get_vocab()


def test_words_are_read_by_hugging_face(tmp_path: Path) -> None:
    same_ids(words(unk_token="<unk>"), tmp_path)


def test_words_behind_other_components(tmp_path: Path) -> None:
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    level["use_regex"] = True
    tok = words(
        unk_token="<unk>", normalizer={"type": "Lowercase"}, pre_tokenizer=level, decoder=level
    )
    assert tok.encode("The DOG").tokens == ["the", "Ġdog"]
    assert tok.decode(tok.encode("The DOG")) == "the dog"
    same_ids(tok, tmp_path)


def test_words_from_a_list() -> None:
    tok = protok.train(protok.Recipe(model="word", tokens=("dog", "the", "cat"), unk_token="<unk>"))
    assert tok.encode("the cat bit").tolist() == [1, 2, 3]
    front = protok.Recipe(model="word", tokens=("<unk>", "dog"), unk_token="<unk>")
    assert protok.train(front).encode("the dog").tolist() == [0, 1]
    counted = protok.train(protok.Recipe(model="word"), {"New York": 3, "a": 9})
    assert list(counted.vocab) == ["a", "New York"]


# -- characters ---------------------------------------------------------------------------------


def test_characters(tmp_path: Path) -> None:
    tok = protok.train(protok.Recipe(model="character", order="spelling", unk_token="<unk>"), [MAT])
    assert list(tok.vocab) == [*" acdeghlmnorstw", "<unk>"]  # the 15 letters of the text
    encoding = tok.encode("the zoo")
    assert encoding.tokens == [*"the ", "<unk>", "o", "o"]
    assert tok.decode(encoding) == "the <unk>oo"
    assert tok.decode(tok.encode(MAT)) == MAT
    assert tok.count(MAT) == len(MAT) == 128
    same_ids(tok, tmp_path)


def test_characters_by_frequency_and_from_a_list() -> None:
    tok = protok.train(protok.Recipe(model="character", vocab_size=3), ["aabbbc d"])
    assert list(tok.vocab) == ["b", "a", " "]
    listed = protok.Recipe(model="character", tokens=tuple("ba"), special_tokens=("<pad>",))
    assert protok.train(listed).encode("ab").tolist() == [2, 1]
    assert list(protok.train(protok.Recipe(model="character"), {"ab": 2, "b": 1}).vocab) == [*"ba"]


# -- bytes --------------------------------------------------------------------------------------


def test_bytes(tmp_path: Path) -> None:
    tok = protok.train(protok.Recipe(model="byte"))
    for text in TEXTS:
        encoding = tok.encode(text)
        assert bytes(encoding.tolist()) == text.encode()
        assert tok.decode(encoding) == text
    assert tok.encode_bytes(b"\xff\x00").tolist() == [255, 0]
    assert tok.inspect().contract.by_construction
    same_ids(tok, tmp_path)


def test_bytes_with_the_ids_of_byt5(tmp_path: Path) -> None:
    # In ByT5 pad, eos and unk come first, and a text ends with eos.
    end = {"SpecialToken": {"id": "</s>", "type_id": 0}}
    one, other = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    template = {
        "type": "TemplateProcessing",
        "single": [one, end],
        "pair": [one, end, other, end],
        "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}},
    }
    tok = protok.train(protok.Recipe(model="byte", special_tokens=BYT5, post_processor=template))
    assert tok.vocab.size == 259
    assert tok.encode("hé").tolist() == [104 + 3, 0xC3 + 3, 0xA9 + 3, 1]
    assert tok.encode("</s>", special="text").tolist() == [*(b + 3 for b in b"</s>"), 1]
    same_ids(tok, tmp_path)


# -- all ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["word", "character"])
def test_threads_do_not_show(model: Any) -> None:
    corpus = [f"{MAT} {number}" for number in range(20_000)]
    recipe = protok.Recipe(model=model, vocab_size=500, unk_token="<unk>")
    one, three = (protok.train(recipe, corpus, threads=threads) for threads in (1, 3))
    assert one.fingerprint == three.fingerprint
    assert one.to_files() == protok.train(recipe, corpus[::-1]).to_files()


@pytest.mark.parametrize(
    ("recipe", "corpus", "location"),
    [
        (protok.Recipe(), [MAT], "vocab_size"),
        (protok.Recipe(model="letter"), [MAT], "model"),  # type: ignore[arg-type]
        (protok.Recipe(model="word"), [""], "corpus"),
        (protok.Recipe(model="word"), None, None),
        (protok.Recipe(model="word", tie="first-seen"), [MAT], "tie"),
        (protok.Recipe(model="word", tokens=("a",)), [MAT], "tokens"),
        (protok.Recipe(model="word", tokens=("a", "b", "a")), None, "tokens"),
        (protok.Recipe(model="word", tokens=("a", "b"), vocab_size=1), None, "vocab_size"),
        (protok.Recipe(model="word", special_tokens=("<a>",), vocab_size=0), [MAT], "vocab_size"),
        (protok.Recipe(model="character", tokens=("ab",)), None, "tokens"),
        (protok.Recipe(model="byte"), [MAT], "tokens"),
        (protok.Recipe(model="byte", vocab_size=255), None, "vocab_size"),
        (protok.Recipe(model="byte", unk_token="<unk>"), None, "unk_token"),
        (protok.Recipe(model="byte", special_tokens=("a",)), None, "special_tokens"),
        (protok.Recipe(vocab_size=300, tokens=("a",)), [MAT], "tokens"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_recipes_that_make_no_sense(
    recipe: protok.Recipe, corpus: list[str] | None, location: str | None
) -> None:
    with pytest.raises(protok.InputError) as caught:
        protok.train(recipe, corpus)
    assert caught.value.location == location
    assert caught.value.hint
