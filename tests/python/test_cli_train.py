"""``protok train`` and ``protok count-words``: what they write, show and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import protok
from protok.cli import app
from protok.cli.train import size_of

LOW = "low low low low low lower lower newest newest newest newest newest newest " + "widest " * 3
RECIPE = """
vocab_size = 30
symbols = "characters"
tie = "first-seen"
pre_tokenizer = { type = "WhitespaceSplit" }
decoder = "none"
end_of_word_suffix = "</w>"
fewer = "accept"
corpus = ["low.txt"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "low.txt").write_text(LOW)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return tmp_path


def test_removed_tokens_are_shown(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'vocab_size = 5\nsymbols = "characters"\npre_tokenizer = { type = "WhitespaceSplit" }\n'
        'decoder = "none"\nremove_intermediate = 0.9\ncorpus = ["text.txt"]\n'
    )
    (tmp_path / "text.txt").write_text("abc " * 9 + "ab " + "cb " * 4)
    steps = shown("train", recipe, "--steps", 2)
    assert "a + b  10 times" in steps
    assert "ab + c  9 times" in steps
    assert "removed: ab → a b" in steps
    data = json.loads(shown("train", recipe, "--steps", 2, "--json"))["steps"]
    assert data[1]["removed"] == {"ab": ["a", "b"]}
    assert "removed" not in data[0]
    assert "3 merges, 1 removal" in shown("train", recipe, "-o", tmp_path / "out")


def protok_(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def shown(*arguments: object) -> str:
    result = protok_(*arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def test_a_recipe_becomes_a_folder(folder: Path) -> None:
    output = folder / "out"
    text = shown("train", folder / "recipe.toml", "-o", output)
    assert "26 tokens" in text
    assert "13 merges" in text
    assert "1 source, 1 document, 16 words, 4 of them distinct" in text
    assert "e s  9" in text
    assert "used only inside others" in text
    tok = protok.load(output)
    assert tok.encode("lowest").tokens == ["low", "est</w>"]
    assert {path.name for path in output.iterdir()} >= {"provenance.json", "report.json"}
    provenance = json.loads((output / "provenance.json").read_text())
    assert provenance["corpus"]["sources"][0]["bytes"] == len(LOW)
    assert not list(folder.glob(".*")), "nothing is left beside it"


def test_json_is_for_machines(folder: Path) -> None:
    data = json.loads(shown("train", folder / "recipe.toml", "-o", folder / "out", "--json"))
    assert data["report"]["tokens"] == 26
    assert data["provenance"]["corpus"]["words"] == 16


def test_steps_with_all_pairs(folder: Path) -> None:
    text = shown("train", folder / "recipe.toml", "--steps", 2, "--trace")
    assert "e + s  9 times; 79 → 70 tokens; as good: s + t</w>" in text
    assert "l + o  7" in text
    assert "n e w es t</w>  ·6" in text
    assert not (folder / "out").exists()
    short = shown("train", folder / "recipe.toml", "--steps", 2)
    assert "es + t</w>  9 times" in short
    assert "l + o" not in short


@pytest.mark.parametrize("tie", ["first", "min", "max"])
def test_steps_of_the_shared_example(shared: Path, tmp_path: Path, tie: str) -> None:
    example = json.loads((shared / "corpus/worked/d_cat_mat.json").read_text("utf-8"))
    rules = {"min": "lexicographic-first", "max": "lexicographic-last", "first": "first-seen"}
    (tmp_path / "mat.txt").write_text(example["text"])
    (tmp_path / "r.toml").write_text(
        f'vocab_size = 25\nsymbols = "characters"\ntie = "{rules[tie]}"\ndecoder = "none"\n'
        'pre_tokenizer = { type = "Split", pattern = { Regex = " ?[a-z]+" }, '
        'behavior = "Isolated", invert = false }\ncorpus = ["mat.txt"]\n'
    )
    data = json.loads(shown("train", tmp_path / "r.toml", "--steps", 10, "--trace", "--json"))
    steps = data["steps"]
    expected = example["other_tie_rules"].get(tie)
    if expected is not None:
        assert [[s["pair"], s["count"], s["tokens_after"]] for s in steps] == expected
    else:
        assert [s["pair"] for s in steps] == [merge["pair"] for merge in example["merges"]]
        assert [s["count"] for s in steps] == [merge["count"] for merge in example["merges"]]
    for step in steps:
        counts = {tuple(pair["pair"]): pair["count"] for pair in step["pairs"]}
        assert max(counts.values()) == step["count"] == counts[tuple(step["pair"])]
        left, right = step["pair"]
        tied = {pair for pair, count in counts.items() if count == step["count"]}
        assert {tuple(pair) for pair in step["tied_with"]} == tied - {(left, right)}


def test_a_dry_run_reads_nothing(folder: Path) -> None:
    text = shown("train", folder / "recipe.toml", "-o", folder / "out", "--dry-run")
    assert "vocab_size = 30" in text
    assert f"{len(LOW)}" in text
    assert "low.txt" in text
    assert not (folder / "out").exists()
    data = json.loads(shown("train", "--preset", "gpt2", folder / "low.txt", "--dry-run", "--json"))
    assert data["files"] == [{"file": str(folder / "low.txt"), "bytes": len(LOW)}]


def test_a_preset_and_files(folder: Path) -> None:
    shown("train", "--preset", "gpt2", "--vocab-size", 262, folder / "low.txt", "-o", folder / "a")
    assert protok.load(folder / "a").special_tokens == {"<|endoftext|>": 261}
    assert len(protok.load(folder / "a").vocab) == 262


def test_counts_are_merged_and_trained_from(folder: Path) -> None:
    (folder / "two.txt").write_text("low lowest\n")
    both = (folder / "low.txt", folder / "two.txt")
    shown("train", folder / "recipe.toml", *both, "-o", folder / "direct")
    for name, path in zip("ab", both, strict=True):
        text = shown("count-words", folder / "recipe.toml", path, "-o", folder / name)
        assert "1 document" in text
        assert "1 source" in text
    merged = ("count-words", folder / "recipe.toml", folder / "a", folder / "b")
    data = json.loads(shown(*merged, "-o", folder / "ab", "--json", "--memory", "2M"))
    assert data["corpus"]["words"] == 18
    shown("train", folder / "recipe.toml", folder / "ab", "-o", folder / "counted")
    for path in (folder / "direct").iterdir():
        assert (folder / "counted" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("train",), "RECIPE.toml"),
        (("train", "low.txt", "-o", "x"), "RECIPE.toml"),
        (("train", "recipe.toml"), "-o DIR"),
        (("train", "recipe.toml", "--trace"), "--steps"),
        (("train", "gone.toml", "-o", "x"), "gone.toml"),
        (("train", "--preset", "gpt5", "low.txt", "-o", "x"), "gpt5"),
        (("train", "--preset", "gpt2", "gone.txt", "-o", "x"), "gone.txt"),
        (("train", "--preset", "gpt2", "-o", "x"), "nothing to train on"),
        (("train", "--preset", "gpt2", "low.txt", "-o", "x"), "gives 272 tokens, not 50257"),
        (("train", "recipe.toml", "-o", "full"), "something at this place"),
        (("train", "recipe.toml", "-o", "x", "--memory", "much"), "no size"),
        (("train", "recipe.toml", "-o", "x", "--memory", "1K"), "1000 bytes"),
    ],
)
def test_what_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], what: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "full").mkdir()
    (folder / "full" / "file").write_text("")
    result = protok_(*arguments)
    assert result.exit_code != 0
    assert what in " ".join((result.output + str(result.exception)).split())
    assert not (folder / "x").exists()


def test_sizes() -> None:
    sizes = {"500M": 500_000_000, "2g": 2_000_000_000, "1.5GB": 1_500_000_000, "7": 7, "3kb": 3000}
    assert {text: size_of(text) for text in sizes} == sizes
