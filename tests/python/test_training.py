"""Training: worked examples, Hugging Face's trainer, threads, and corpora that cannot be read."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any, Literal

import pytest
from small_artifacts import EMPTY, load

import protok
from protok import _core
from protok.corpus import Source
from protok.training import Merge, TieRule, run
from protok.training.learners import merge_log

LOW = {"low": 5, "lower": 2}
CAT = {"cat": 6, "cats": 3, "hat": 4, "that": 2, "chat": 1}
NEWEST = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
HUG = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
MAT = (
    "the cat sat on the mat and the dog sat on the log and the cat saw the dog "
    "then the dog ran to the cat and the cat ran on the mat"
)
# The shared examples name the rules by where ties go.
TIES: dict[str, TieRule] = {
    "first": "first-seen",
    "min": "lexicographic-first",
    "max": "lexicographic-last",
}


def recipe(vocab_size: int, tie: TieRule = "first-seen", **options: Any) -> protok.Recipe:
    plain = {"symbols": "characters", "pre_tokenizer": None, "decoder": None, "fewer": "accept"}
    return protok.Recipe(vocab_size=vocab_size, tie=tie, **{**plain, **options})


def words(tie: TieRule = "lexicographic-last", **options: Any) -> protok.Recipe:
    """Return the recipe of the cat on the mat: lower-case words with the space before them."""
    split = {"type": "Split", "behavior": "Isolated", "invert": False}
    pattern = {"Regex": " ?[a-z]+"}
    return recipe(25, tie, pre_tokenizer={**split, "pattern": pattern}, **options)


def steps(merges: Iterable[Merge]) -> list[str]:
    """Spell merges as ``left right count tokens_after``, with ``_`` for a space."""
    fields = ((m.left, m.right, str(m.count), str(m.tokens_after)) for m in merges)
    return [" ".join(field.replace(" ", "_") for field in step) for step in fields]


def marked(counts: Mapping[str, int], tie: TieRule, merges: int) -> tuple[int, list[Merge]]:
    """Train on words with ``</w>`` as a symbol of its own; return the first number of tokens."""
    counter = _core.WordCounter(EMPTY)
    for word, count in counts.items():
        counter.add(word, count)
    result = _core.train_bpe(
        counter,
        vocab_size=1000,
        symbols="characters",
        tie=tie,
        end_of_word_suffix="</w>",
        separate_end_of_word=True,
        listed_ties=100,
    )
    return result["initial_tokens"], merge_log(result)[:merges]


def learn(
    recipe: protok.Recipe, corpus: Any, listed_ties: int = 0
) -> tuple[protok.Tokenizer, list[Merge]]:
    """Return the tokenizer and the log of its merges."""
    training = run(recipe, corpus, listed_ties=listed_ties)
    return training.tokenizer, list(training.merges)


# -- worked examples ----------------------------------------------------------------------------


def test_low_lower() -> None:
    initial, merges = marked(LOW, "first-seen", 6)
    assert initial == 32
    assert steps(merges)[:3] == ["l o 7 25", "lo w 7 18", "low </w> 5 13"]
    assert merges[0].ties == (("o", "w"),)
    assert steps(marked(LOW, "lexicographic-last", 3)[1]) == [
        "o w 7 25",
        "l ow 7 18",
        "low </w> 5 13",
    ]


def test_cat_hat() -> None:
    tok, merges = learn(recipe(8), CAT)
    assert steps(merges) == ["a t 16 38", "c at 9 29", "h at 7 22"]
    assert merges[0].tokens_after + merges[0].count == 54
    assert list(tok.vocab) == ["a", "c", "h", "s", "t", "at", "cat", "hat"]
    assert tok.encode("hats").tokens == ["hat", "s"]
    assert tok.encode("chats").tokens == ["c", "hat", "s"]
    assert tok.encode("that").tolist() == [4, 7]


def test_the_order_of_merges_decides() -> None:
    symbols = ["l", "o", "w", "e", "r", "_"]
    merges = [["e", "r"], ["w", "e"]]
    assert by_hand(symbols, merges).encode("lower_").tokens == ["l", "o", "w", "er", "_"]
    assert by_hand(symbols, merges[::-1]).encode("lower_").tokens == ["l", "o", "we", "r", "_"]


def by_hand(symbols: list[str], merges: list[list[str]]) -> protok.Tokenizer:
    tokens = [*symbols, *("".join(merge) for merge in merges)]
    vocab = {token: id for id, token in enumerate(tokens)}
    model = {"type": "BPE", "vocab": vocab, "merges": merges}
    return load(model)


def test_the_cat_on_the_mat() -> None:
    tok, merges = learn(words(), [MAT])
    assert merges[0].tokens_after + merges[0].count == len(MAT) == 128
    assert merges[-1].tokens_after == len(tok.encode(MAT)) == 65
    assert steps(merges) == [
        *("t h 11 117", "th e 11 106", "_ the 10 96", "a t 8 88", "a n 5 83"),
        *("o g 4 79", "c at 4 75", "_ cat 4 71", "o n 3 68", "d og 3 65"),
    ]
    assert [merge.tied for merge in merges] == [2, 0, 0, 0, 0, 2, 1, 0, 6, 5]
    assert tok.encode("the cats").tolist() == [16, 22, 12]
    assert "".join(tok.encode(MAT).tokens) == MAT


def test_an_unknown_letter() -> None:
    """As in tokenizers: without an unknown token the letter leaves no token."""
    assert learn(words(), [MAT])[0].encode("the bat").tokens == ["the", " ", "at"]
    options = replace(words(special_tokens=("[UNK]",), unk_token="[UNK]"), vocab_size=26)
    tok = protok.train(options, [MAT])
    encoding = tok.encode("the bat")
    assert encoding.tokens == ["the", " ", "[UNK]", "at"]
    assert encoding.tolist() == [17, 1, 0, 19]
    with pytest.raises(protok.InputError, match=r"\[UNK\].*special_tokens"):
        protok.train(words(unk_token="[UNK]"), [MAT])


def test_hug_pug() -> None:
    tok, merges = learn(recipe(10), HUG)
    assert steps(merges) == ["u g 20 93", "u n 16 77", "h ug 15 62"]
    assert tok.encode("hugs").tokens == ["hug", "s"]


def test_overlaps_count() -> None:
    tok, merges = learn(recipe(7), {"aaabdaaabac": 1})
    assert steps(merges) == ["a a 4 9", "aa a 2 7", "aaa b 2 5"]
    assert tok.encode("aaabdaaabac").tokens == ["aaab", "d", "aaab", "a", "c"]
    first = learn(recipe(7, "lexicographic-first"), {"aaabdaaabac": 1})[1]
    assert steps(first) == ["a a 4 9", "a b 2 7", "aa ab 2 5"]


# -- the same from the shared files, in full ----------------------------------------------------


def worked(shared: Path, name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((shared / "corpus/worked" / name).read_text("utf-8"))
    return data


def same(merges: list[Merge], expected: list[dict[str, Any]]) -> None:
    assert len(merges) == len(expected)
    for merge, want in zip(merges, expected, strict=True):
        assert [merge.left, merge.right] == want["pair"]
        assert (merge.count, merge.tokens_after) == (want["count"], want["tokens_after"])
        assert sorted(map(list, merge.ties)) == sorted(want["tied_with"])
        assert merge.tied == len(want["tied_with"])


@pytest.mark.parametrize("name", ["a_low_lower.json", "h_low_newest.json"])
@pytest.mark.parametrize("tie", TIES)
def test_shared_end_of_word(shared: Path, name: str, tie: str) -> None:
    example = worked(shared, name)
    expected = example[f"merges_ties_{tie}"]
    initial, merges = marked(example["word_counts"], TIES[tie], len(expected))
    same(merges, expected)
    assert initial == example.get("initial_symbols", initial)


def test_shared_cat_hat(shared: Path) -> None:
    example = worked(shared, "b_cat_hat.json")
    tok, merges = learn(recipe(8), example["word_counts"], listed_ties=100)
    same(merges, example["merges"])
    assert list(tok.vocab) == example["encodings_ids_vocab"]
    for word, tokens in example["encodings_after_3_merges"].items():
        assert tok.encode(word).tokens == tokens
    _, merges = learn(recipe(100), example["word_counts"], listed_ties=100)
    same(merges, example["all_merges_ties_first"])


def test_shared_merge_order(shared: Path) -> None:
    example = worked(shared, "c_merge_order.json")
    text = "".join(example["symbols"])
    for merges, tokens in (("merges", "in_order"), ("reversed_merges", "reversed")):
        tok = by_hand(example["symbols"], example[merges])
        assert tok.encode(text).tokens == example[tokens]


def test_shared_cat_mat(shared: Path) -> None:
    example = worked(shared, "d_cat_mat.json")
    tok, merges = learn(words(), [example["text"]], listed_ties=100)
    same(merges, example["merges"])
    assert list(tok.vocab) == example["vocab"]
    for text, encoding in example["encodings"].items():
        assert tok.encode(text).tolist() == encoding["ids"]
        assert tok.encode(text).tokens == encoding["tokens"]
    for tie, expected in example["other_tie_rules"].items():
        _, merges = learn(words(TIES[tie]), [example["text"]])
        assert [[[m.left, m.right], m.count, m.tokens_after] for m in merges] == expected


def test_shared_hug_pug(shared: Path) -> None:
    example = worked(shared, "i_hug_pug.json")
    _, merges = learn(recipe(10), example["word_counts"], listed_ties=100)
    same(merges, example["bpe_merges"])


def test_shared_overlaps(shared: Path) -> None:
    example = worked(shared, "j_aaabdaaabac.json")
    tok, merges = learn(recipe(7), {example["text"]: 1}, listed_ties=100)
    same(merges, example["merges"])
    assert tok.encode(example["text"]).tokens == example["final"]
    for tie, expected in example["other_tie_rules"].items():
        _, merges = learn(recipe(7, TIES[tie]), {example["text"]: 1})
        assert [[[m.left, m.right], m.count, m.tokens_after] for m in merges] == expected


# -- against Hugging Face's trainer -------------------------------------------------------------


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Return 400 kB: the prose that every Python brings, and seeded runs of other scripts."""
    prose = "".join(topics[name] for name in sorted(topics)).splitlines(keepends=True)
    source = random.Random(3)
    alphabets = ["аеиноств", "东京大学的不是", "हिन्दीकाम", "éèüñß", "🐈👍🏽", "0123456789", "𝔘𝔫𝔦"]
    for _ in range(2000):
        runs = ("".join(source.choices(source.choice(alphabets), k=6)) for _ in range(5))
        prose.append(" ".join(runs) + "\n")
    source.shuffle(prose)
    return prose[: next(n for n in range(len(prose)) if sum(map(len, prose[:n])) > 300_000)]


@pytest.mark.parametrize("size", [1000, 4000])
@pytest.mark.parametrize("symbols", ["bytes", "characters"])
def test_the_same_as_hugging_face(
    lines: list[str], symbols: Literal["bytes", "characters"], size: int
) -> None:
    pytest.importorskip("tokenizers")
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    reference = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    reference.pre_tokenizer = byte_level if symbols == "bytes" else pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=byte_level.alphabet() if symbols == "bytes" else [],
        show_progress=False,
    )
    reference.train_from_iterator(lines, trainer)
    expected = json.loads(reference.to_str())["model"]
    options = protok.Recipe(vocab_size=size, symbols=symbols, special_tokens=("<s>", "</s>"))
    if symbols == "characters":
        options = replace(options, pre_tokenizer={"type": "Whitespace"}, decoder=None)
    tok = protok.train(options, lines)
    ours = json.loads(tok.to_files()["tokenizer.json"])["model"]
    assert [list(merge) for merge in ours["merges"]] == expected["merges"]
    assert ours["vocab"] == expected["vocab"]
    assert tok.vocab.size == size
    for line in lines[:300]:
        assert tok.encode(line).tolist() == reference.encode(line).ids


def test_threads_change_nothing(lines: list[str]) -> None:
    options = protok.Recipe(vocab_size=600)
    one, two = (protok.train(options, lines, threads=threads) for threads in (1, 2))
    assert one.to_files() == two.to_files()
    assert one.fingerprint == two.fingerprint


def test_files_are_the_same_as_their_lines(lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes("".join(lines[:2000]).encode())
    options = protok.Recipe(vocab_size=400)
    from_texts = protok.train(options, lines[:2000]).fingerprint
    assert protok.train(options, [path]).fingerprint == from_texts
    for alone in (path, Source(files=(str(path),))):
        assert protok.train(options, alone).fingerprint == from_texts
    assert protok.train(replace(options, corpus=(str(path),))).fingerprint == from_texts


def test_special_tokens_come_first_and_are_control_tokens() -> None:
    options = protok.Recipe(vocab_size=262, special_tokens=("<a>", "<b>"))
    tok = protok.train(options, ["low lower lowest"])
    assert tok.special_tokens == {"<a>": 0, "<b>": 1}
    assert [token.content for token in tok.control_tokens] == ["<a>", "<b>"]
    with pytest.raises(protok.SpecialTokenError):
        tok.encode("<a>")
    assert protok.load(tok.to_files()["tokenizer.json"]).fingerprint == tok.fingerprint


def test_progress_is_told_and_may_stop() -> None:
    seen: list[tuple[int, int]] = []
    protok.train(
        protok.Recipe(vocab_size=300, fewer="accept"),
        {"".join(chr(97 + (n * n + k) % 26) for k in range(9)): 2 for n in range(50)},
        progress=lambda step, size: seen.append((step, size)),
    )
    assert seen[0] == (0, 257)

    def stop(step: int, size: int) -> None:
        raise KeyboardInterrupt(step, size)

    with pytest.raises(KeyboardInterrupt):
        protok.train(protok.Recipe(vocab_size=300), ["abab abab"], progress=stop)


# -- what cannot be trained on ------------------------------------------------------------------


@pytest.mark.parametrize("corpus", [[], [""], {}, None])
def test_an_empty_corpus(corpus: list[str] | dict[str, int] | None) -> None:
    with pytest.raises(protok.InputError, match=r"no words|nothing to train on"):
        protok.train(protok.Recipe(vocab_size=300), corpus)


def test_one_string_is_no_corpus() -> None:
    with pytest.raises(protok.InputError, match=r"\[text\]"):
        protok.train(protok.Recipe(vocab_size=300), "low lower")


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"fine\nalso fine\ncaf\xe9 au lait\n")
    with pytest.raises(protok.InputError, match=r"latin\.txt, byte 18") as caught:
        protok.train(protok.Recipe(vocab_size=300), [path])
    assert (caught.value.position, caught.value.value) == (18, "e9")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(protok.InputError, match=r"gone\.txt"):
        protok.train(protok.Recipe(vocab_size=300), [tmp_path / "gone.txt"])


def test_a_vocabulary_smaller_than_its_alphabet() -> None:
    with pytest.raises(protok.InputError, match=r"256.*255|255.*256"):
        protok.train(protok.Recipe(vocab_size=255), ["low"])
    with pytest.raises(protok.InputError, match=r"\b4\b.*\b3\b|\b3\b.*\b4\b"):
        protok.train(recipe(3), {"abcd": 1})


def test_an_unknown_tie_rule() -> None:
    with pytest.raises(protok.InputError, match=r"lowest-ids"):
        protok.train(replace(protok.Recipe(vocab_size=300), tie="coin"), ["low"])  # type: ignore[arg-type]
