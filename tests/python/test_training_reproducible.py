"""The same recipe and corpus give the same bytes, however the work was done."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import protok
from protok.corpus import Source
from protok.training import Recipe, count_words, run

RECIPE = Recipe(vocab_size=700, held_out=0.05, special_tokens=("<s>",), seed=3)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("corpus")
    random_ = random.Random(5)
    syllables = ["ka", "lo", "mi", "née", "sun", "tor", "vi", "猫", "zu", "12", "ré"]
    stems = ["".join(random_.choices(syllables, k=random_.randint(1, 4))) for _ in range(4000)]
    paths = []
    for number in range(3):
        lines = (" ".join(random_.choices(stems, k=12)) for _ in range(12_000))
        path = folder / f"{number}.txt"
        path.write_text("\n".join(lines) + "\n", "utf-8")
        paths.append(path)
    return paths


def outcome(recipe: Recipe, corpus: Any, **options: Any) -> dict[str, bytes]:
    return run(recipe, corpus, **options).to_files()


def test_the_way_does_not_show(files: list[Path], tmp_path: Path) -> None:
    expected = outcome(RECIPE, files, threads=1)
    assert sorted(expected) == [
        "provenance.json",
        "recipe.toml",
        "report.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert outcome(RECIPE, files, threads=1) == expected
    assert outcome(RECIPE, files, threads=2) == expected
    assert outcome(RECIPE, files[::-1], threads=2) == expected
    spilled = outcome(RECIPE, files, memory_bytes=1 << 20, spill_folder=tmp_path)
    assert spilled == expected
    assert list(tmp_path.iterdir()) == []
    whole, parts = tmp_path / "whole", [tmp_path / "a", tmp_path / "b"]
    count_words(RECIPE, files, whole)
    assert outcome(RECIPE, [whole]) == expected
    count_words(RECIPE, files[:1], parts[0])
    count_words(RECIPE, files[1:], parts[1], memory_bytes=1 << 20)
    count_words(RECIPE, parts[::-1], tmp_path / "merged")
    assert outcome(RECIPE, [tmp_path / "merged"]) == expected
    assert (tmp_path / "merged").read_bytes() == whole.read_bytes()
    text = expected["provenance.json"].decode()
    assert str(files[0].parent) not in text
    assert "0.txt" not in text


@pytest.mark.parametrize(
    "options",
    [
        {"model": "wordpiece", "scoring": "likelihood"},
        {"model": "unigram", "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None},
        {"model": "word", "unk_token": "<unk>"},
        {"remove_intermediate": 0.9},
    ],
    ids=str,
)
def test_for_every_trainer(files: list[Path], tmp_path: Path, options: dict[str, Any]) -> None:
    recipe = replace(RECIPE, vocab_size=400, **options)
    expected = outcome(recipe, files[:2], threads=1)
    assert outcome(recipe, files[1::-1], threads=2, memory_bytes=1 << 20) == expected
    count_words(recipe, files[:2], tmp_path / "counts", threads=2)
    assert outcome(recipe, [tmp_path / "counts"]) == expected


def test_the_recipe_written_repeats_the_run(files: list[Path], tmp_path: Path) -> None:
    expected = outcome(RECIPE, files)
    path = tmp_path / "recipe.toml"
    path.write_bytes(expected["recipe.toml"])
    assert run(path, files).to_files() == expected
    # A recipe that names its corpus is read from where it stands.
    (tmp_path / "x.txt").write_text("low lower lowest\n")
    path.write_text('vocab_size = 260\ncorpus = ["*.txt"]\n')
    assert protok.train(path).encode("low").tokens == ["low"]


def test_first_seen_keeps_the_order_of_files(files: list[Path], tmp_path: Path) -> None:
    recipe = replace(RECIPE, tie="first-seen")
    expected = outcome(recipe, files)
    assert outcome(recipe, files, threads=2, memory_bytes=1 << 20) == expected
    sources = json.loads(expected["provenance.json"])["corpus"]["sources"]
    turned = json.loads(outcome(recipe, files[::-1])["provenance.json"])["corpus"]["sources"]
    assert sources == turned[::-1]
    counts = [tmp_path / "a", tmp_path / "b"]
    count_words(recipe, files[:2], counts[0])
    count_words(recipe, files[2:], counts[1])
    assert outcome(recipe, counts) == expected
    sorted_counts = tmp_path / "sorted"
    count_words(RECIPE, files, sorted_counts)
    with pytest.raises(protok.InputError, match="first order is lost"):
        outcome(recipe, [sorted_counts])


def test_counts_of_another_recipe_are_refused(files: list[Path], tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    count_words(RECIPE, files[:1], counts)
    for change in ({"digits": "single"}, {"normalizer": {"type": "NFC"}}, {"held_out": 0.1}):
        with pytest.raises(protok.InputError, match=r"counts: .*counted with another"):
            run(replace(RECIPE, **change), [counts])
    # What does not decide the words may differ.
    assert len(run(replace(RECIPE, vocab_size=600), [counts]).tokenizer.vocab) == 600
    data = bytearray(counts.read_bytes())
    data[-40] ^= 1
    counts.write_bytes(data)
    with pytest.raises(protok.InputError, match="damaged"):
        run(RECIPE, [counts])


def test_weights_count_as_often(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("aa bb\n" * 1000)
    two.write_text("cc\n" * 1000)
    sources = (Source(files=("one",), weight=3), Source(files=("two",), weight=0.25))
    recipe = replace(RECIPE, held_out=0.0, fewer="accept", vocab_size=None, model="word",
                     special_tokens=("<s>",), corpus=sources)  # fmt: skip
    path = tmp_path / "r.toml"
    path.write_text(protok.training.to_toml(recipe))
    training = run(path)
    assert training.counted is not None
    counts = {word.decode(): count for word, count in training.counted.counter.items()}
    assert counts["aa"] == counts["bb"] == 3000
    assert 200 < counts["cc"] < 300
    assert [s.get("weight") for s in training.provenance["corpus"]["sources"]].count(0.25) == 1
    again = run(path)
    assert again.to_files() == training.to_files()
    other = run(replace(recipe, seed=9, corpus=()), [replace(sources[1], files=(str(two),))])
    assert other.counted is not None
    assert dict(other.counted.counter.items())[b"cc"] != counts["cc"]
    with pytest.raises(protok.InputError, match="weight"):
        run(replace(recipe, corpus=()), [Source(files=(str(one),), weight=0)])


def test_what_is_held_out_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("".join(f"word{n}\n" for n in range(2000)))
    recipe = Recipe(model="word", unk_token="<unk>", held_out=0.1)
    training = run(recipe, [path])
    assert training.counted is not None
    held = {text.strip() for _, text in training.counted.held_out}
    assert 150 < len(held) < 250
    assert held.isdisjoint(training.tokenizer.vocab)
    assert len(training.tokenizer.vocab) == 2001 - len(held)
    report = training.report()
    assert report.held_out is not None
    assert report.round_trip[0] == len(held)


def test_the_report_counts_entries() -> None:
    training = run(Recipe(vocab_size=262, special_tokens=("<s>",)), ["low lower lowest low"])
    report = training.report().to_dict()
    counts = {entry["token"]: entry["count"] for entry in report["entries"] if entry["count"]}
    encoded = training.tokenizer.encode("low lower lowest low").tokens
    assert counts == {token: encoded.count(token) for token in encoded}
    assert report["training"] == {"bytes": 20, "tokens": len(encoded)}


@pytest.mark.skipif(os.name != "posix", reason="a process is killed")
def test_killed_and_started_again(files: list[Path], tmp_path: Path) -> None:
    expected = outcome(RECIPE, files)
    recipe, out = tmp_path / "recipe.toml", tmp_path / "out"
    recipe.write_bytes(expected["recipe.toml"])
    start = "from protok.cli import main; main()"
    command = [sys.executable, "-c", start, "train", str(recipe), *map(str, files)]
    command += ["-o", str(out), "--memory", "2M"]
    for seconds in (0.4, 0.7, 1.0):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
        if out.exists():
            break
    if not out.exists():
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == expected
