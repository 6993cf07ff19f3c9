"""Recipes as TOML, presets beside the artifacts they are of, and what a recipe may not say."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from small_artifacts import load

import protok
from protok import _core
from protok.corpus import Source
from protok.training import PRESETS, Recipe, from_toml, preset, run, to_toml
from protok.training.recipe import checked

ARTIFACTS = {
    "gpt2": "gpt2",
    "o200k": "gpt-oss",
    "llama3": "llama3.1",
    "qwen": "qwen3",
    "llama2": "mistral-v0.1",
    "bert": "minilm-bert-uncased",
    "t5": "t5-base",
}
COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
CORPUS = ["The cat's 1234 hats sat — naïve, on 5 mats!\n", "the hat that sat, the cat that ran\n"]


def without_ids(component: Any) -> Any:
    """Take the ids of special tokens out of a post-processor: they are the vocabulary's."""
    if isinstance(component, dict):
        return {key: without_ids(value) for key, value in component.items() if key != "ids"}
    if isinstance(component, list):
        return [without_ids(item) for item in component]
    return component


@pytest.mark.parametrize("name", ARTIFACTS)
def test_components_are_those_of_the_artifact(shared: Path, name: str) -> None:
    path = shared / "artifacts" / ARTIFACTS[name] / "tokenizer.json"
    artifact = json.loads(path.read_text("utf-8"))
    recipe = checked(preset(name))
    for component in COMPONENTS:
        if (name, component) == ("t5", "normalizer"):
            # SentencePiece's own table there; what it is made of here.
            assert artifact[component]["type"] == "Precompiled"
            continue
        assert without_ids(getattr(recipe, component)) == without_ids(artifact[component])
    model = artifact["model"]
    for key in ("unk_token", "ignore_merges", "byte_fallback", "fuse_unk"):
        if key in model:
            assert getattr(recipe, key) == model[key], key
    contents = {token["content"] for token in artifact["added_tokens"]}
    if name not in {"o200k", "llama2"}:
        assert {*recipe.first_tokens, *recipe.last_tokens} - contents <= {"<unk>"}


def test_t5_normalizes_as_sentencepiece_does(shared: Path) -> None:
    real = protok.load(shared / "artifacts/t5-base/tokenizer.json")
    model = {"type": "WordLevel", "vocab": {"x": 0}, "unk_token": "x"}
    ours = load(model, normalizer=preset("t5").normalizer)
    for text in ("ﬁne  ①ⅷ", "ｶ\u3000ｱ", "a\u200b\tb\n\u00a0c", "naïve Å", "\x01x\x7f", "½ ㎏"):
        assert ours.encode(text).normalized == real.encode(text).normalized, text


def test_cl100k_cuts_as_tiktoken_does(shared: Path, cl100k: protok.Tokenizer) -> None:
    real = json.loads(cl100k.to_files("huggingface")["tokenizer.json"])
    recipe = preset("cl100k")
    ours = {**real, "pre_tokenizer": recipe.pre_tokenizer, "added_tokens": []}
    real["added_tokens"] = []
    texts = [
        (shared / "corpus" / name).read_text("utf-8")
        for name in ("slices/whitespace.md", "slices/chat.txt", "slices/numbers.txt")
    ]
    digests = []
    for document in (real, ours):
        counter = _core.WordCounter(json.dumps(document).encode())
        counter.feed(texts)
        digests.append(counter.totals())
    assert digests[0] == digests[1]
    assert set(recipe.special_tokens) == set(cl100k.special_tokens)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_trains(name: str, tmp_path: Path) -> None:
    recipe = preset(name)
    size = {"wordpiece": 60, "unigram": 60}.get(recipe.model, 290)
    size += len(recipe.byte_tokens)
    if recipe.model in {"word", "character"}:
        recipe = replace(recipe, vocab_size=None)
    else:
        recipe = replace(recipe, vocab_size=size, reserved=min(recipe.reserved, 4), fewer="accept")
        recipe = replace(recipe, character_coverage=None) if recipe.character_coverage else recipe
    training = run(recipe, CORPUS * 3)
    training.save(tmp_path / "out")
    tok = protok.load(tmp_path / "out")
    assert tok.fingerprint == training.tokenizer.fingerprint
    assert {*recipe.first_tokens, *recipe.last_tokens} <= {*tok.special_tokens}
    if recipe.last_tokens:
        last = list(range(tok.vocab.size - len(recipe.last_tokens), tok.vocab.size))
        assert [tok.special_tokens[token] for token in recipe.last_tokens] == last
    if recipe.first_tokens:
        assert [tok.special_tokens[token] for token in recipe.first_tokens] == list(
            range(len(recipe.first_tokens))
        )
    text = "the cat's hats sat, that hat!"
    back = tok.decode(tok.encode(text), skip_special_tokens=True)
    expected = {"words": "the cat ' s hats sat , that hat !"}.get(name, text)
    if name == "words":
        assert back == expected
    else:
        assert back.replace(" ", "") == expected.replace(" ", "")
    if name == "llama3":
        assert tok.encode("cat").tokens[0] == "<|begin_of_text|>"
    if name == "bert":
        assert tok.encode("cat", "hat").tokens[0] == "[CLS]"
        assert tok.encode("cat", "hat").type_ids.tolist()[-1] == 1
    if name == "llama2":
        assert tok.encode("🐈", add_special_tokens=False).tokens[-1] == "<0x88>"


# -- TOML ---------------------------------------------------------------------------------------

FULL = """
vocab_size = 500
symbols = "characters"
pre_tokenizer = "none"
decoder = "none"
digits = "single"
special_tokens = ["<s>", "\\"quoted\\" \\\\ é"]
reserved = 2
required = ["protok"]
tie = "first-seen"
character_coverage = 0.999
held_out = 0.01
seed = 7

[normalizer]
type = "Replace"
pattern = { String = "``" }
content = "x"

[[corpus]]
files = ["a/*.txt", "b.txt"]
weight = 2
split = "paragraph"

[[corpus]]
files = ["chat.jsonl.gz"]
field = "content"
encoding_errors = "skip"
"""


def test_toml_comes_back() -> None:
    recipe = from_toml(FULL)
    assert recipe.pre_tokenizer is None
    assert recipe.sources[0] == Source(files=("a/*.txt", "b.txt"), weight=2, split="paragraph")
    assert recipe.normalizer == {
        "type": "Replace",
        "pattern": {"String": "``"},
        "content": "x",
    }
    written = to_toml(recipe)
    assert from_toml(written) == recipe
    assert to_toml(from_toml(written)) == written


@pytest.mark.parametrize("name", PRESETS)
def test_presets_come_back(name: str) -> None:
    recipe = preset(name)
    back = from_toml(to_toml(recipe))
    for field in fields(Recipe):
        ours, theirs = getattr(back, field.name), getattr(recipe, field.name)
        if field.name == "normalizer" and theirs:
            theirs = {key: value for key, value in theirs.items() if value is not None}
        assert ours == theirs
    assert from_toml(f'preset = "{name}"') == recipe


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("vocab_size = ", "no TOML"),
        ("vocabsize = 3", r"r\.toml: vocabsize: A recipe has no key"),
        ('vocab_size = "3"', r'r\.toml: vocab_size: "3" .*whole number'),
        ("vocab_size = true", r"vocab_size: true .*whole number"),
        ("vocab_size = 3.5", r"vocab_size: 3\.5"),
        ('tie = "any"', r'tie: "any".*"lowest-ids"'),
        ('special_tokens = "<s>"', r"special_tokens: .*a list"),
        ("special_tokens = [1]", r"special_tokens\[0\]: 1 .*a text"),
        ('normalizer = "NFC"', r"normalizer: .*a table"),
        ("byte_fallback = 1", r"byte_fallback: 1 .*true or false"),
        ('preset = "gpt5"', r"gpt5.*gpt2"),
        ("preset = 2", r"preset: 2"),
        ('[[corpus]]\npath = "x"', r"corpus\[0\]: path: .*no key 'path'"),
        ('[[corpus]]\nfiles = ["x"]\nweight = "2"', r"corpus\[0\]: weight"),
        ("corpus = [1]", r"corpus\[0\]: 1"),
    ],
)
def test_mistakes_are_named(text: str, what: str) -> None:
    with pytest.raises(protok.InputError, match=what):
        from_toml(text, "r.toml")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"vocab_size": None}, "vocab_size"),
        ({"vocab_size": 0}, "vocab_size cannot be 0"),
        ({"model": "gpt"}, "no model 'gpt'"),
        ({"model": "word", "tie": "first-seen"}, "does not read tie"),
        ({"scoring": "likelihood"}, "bpe model does not read scoring"),
        ({"reserved": 2, "reserved_name": "<x>"}, "'<x>' has two places"),
        ({"special_tokens": ("",)}, "special token is empty"),
        ({"held_out": 1.0}, "held_out"),
        ({"character_coverage": 1.5}, "character_coverage"),
        ({"seed": -1}, "seed"),
        ({"initial_alphabet": "abc"}, "All bytes are in the alphabet"),
        ({"digits": "fours"}, "digits"),
        ({"vocab_size": 100}, "room for 0 special tokens and 256 bytes"),
        ({"vocab_size": 258, "reserved": 3}, "room for 3 special tokens.*259"),
        (
            {"vocab_size": 300, "post_processor": {"type": "BertProcessing", "sep": ["</s>", 0],
                                                   "cls": ["<s>", 0]}, "fewer": "accept"},
            "writes '</s>'",
        ),
    ],
)  # fmt: skip
def test_what_a_recipe_may_not_say(options: dict[str, Any], what: str) -> None:
    with pytest.raises(protok.InputError, match=what):
        protok.train(Recipe(**{"vocab_size": 260, **options}), ["low lower lowest"])


@pytest.mark.parametrize(
    ("digits", "pieces"),
    [
        ("single", ["1", "2", "3", "4", "5", "6", "7"]),
        ("threes-from-the-left", ["123", "456", "7"]),
        ("threes-from-the-right", ["1", "234", "567"]),
    ],
)
def test_digits_are_grouped(digits: Any, pieces: list[str]) -> None:
    recipe = Recipe(vocab_size=300, digits=digits, fewer="accept")
    training = run(recipe, ["a1234567b " * 9, "x 12345678901 y"])
    assert training.counted is not None
    words = [word.decode() for word, _ in training.counted.counter.items()]
    assert {*pieces} <= {*words}
    assert all(len(word.strip()) <= 3 for word in words)
    text = "1234567"
    tokens = training.tokenizer.encode(text)
    ends = [tokens.text(i) for i in range(len(tokens))]
    assert "".join(ends) == text
    long = "9" * 100_000
    assert training.tokenizer.decode(training.tokenizer.encode(long)) == long


def test_required_words_and_characters() -> None:
    recipe = Recipe(model="word", vocab_size=4, unk_token="<unk>", required=("zebra",))
    tok = protok.train(recipe, ["a a a b b c"])
    assert list(tok.vocab) == ["a", "b", "zebra", "<unk>"]
    with pytest.raises(protok.InputError, match="required"):
        protok.train(replace(recipe, required=("x", "y", "z", "w")), ["a"])


def test_fewer_tokens_than_asked_for() -> None:
    recipe = Recipe(vocab_size=5000, special_tokens=("<s>",), reserved=2)
    with pytest.raises(protok.InputError, match=r"gives 264 tokens, not 5000: no pair") as caught:
        protok.train(recipe, ["low lower low"])
    assert caught.value.value == "264"
    tok = protok.train(replace(recipe, fewer="accept"), ["low lower low"])
    assert len(tok.vocab) == 264
    assert len(protok.train(replace(recipe, vocab_size=264), ["low lower low"]).vocab) == 264
    with pytest.raises(protok.InputError, match="min_frequency"):
        protok.train(replace(recipe, min_frequency=3), ["low lower low"])


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
WORDS = {
    "type": "Split",
    "pattern": {"Regex": r" ?\p{L}+| ?[^\s\p{L}]+|\s+"},
    "behavior": "Isolated",
    "invert": False,
}
SUPER = Recipe(vocab_size=272, pre_tokenizer=BYTES, training_cut=WORDS, superwords=4)


def test_superwords_join_words(tmp_path: Path) -> None:
    lines = ["in the end of the day\n", "at the end of the road\n"] * 30
    training = run(replace(SUPER, fewer="accept", vocab_size=280), lines)
    tokens = training.tokenizer.encode("at the end of the road").tokens
    assert any(token.count("Ġ") > 1 for token in tokens)
    training.save(tmp_path / "out")
    assert protok.load(tmp_path / "out").encode("at the end of the road").tokens == tokens
    path = tmp_path / "lines.txt"
    path.write_text("".join(lines))
    again = run(replace(SUPER, fewer="accept", vocab_size=280), [path])
    assert again.tokenizer.fingerprint == training.tokenizer.fingerprint
    with pytest.raises(protok.InputError, match="second reading"):
        run(replace(SUPER, fewer="accept", vocab_size=280), iter(lines))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"training_cut": None}, "without a training_cut"),
        ({"held_out": 0.1}, "held_out"),
        ({"superwords": 20}, "no room for 20 superwords"),
        ({"superwords": -1}, "superwords cannot be -1"),
    ],
)
def test_superwords_that_cannot_be(options: dict[str, Any], what: str) -> None:
    with pytest.raises(protok.InputError, match=what):
        protok.train(replace(SUPER, **options), ["a b a b"])
