"""Every normalizer, pre-tokenizer and decoder by itself equals the reference's."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from golden.records import Differences, inputs, pieces, records
from small_artifacts import load

LONGEST = 80  # of longer texts the goldens do not record components


# A model for which every piece is unknown.
UNKNOWN = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}


@cache
def charsmap(path: Path) -> str:
    """Return the character map of an artifact."""
    normalizer = json.loads(path.read_text("utf-8"))["normalizer"]
    steps = [normalizer, *normalizer.get("normalizers", ())]
    (found,) = (step["precompiled_charsmap"] for step in steps if "precompiled_charsmap" in step)
    return str(found)


def spelled_out(shared: Path, config: dict[str, Any]) -> dict[str, Any]:
    """Put the character map of an artifact in place of its mention."""
    mention = config.get("precompiled_charsmap", "")
    if not mention.startswith("@"):
        return config
    return {**config, "precompiled_charsmap": charsmap(shared / "artifacts" / mention[1:])}


def components(shared: Path, kind: str) -> list[dict[str, Any]]:
    found = [r for r in records(shared / "golden/components.jsonl") if r["kind"] == kind]
    assert found
    return found


def short_texts(shared: Path) -> dict[str, str]:
    texts = inputs(shared / "golden")
    return {case: text for case, text in texts.items() if len(text) <= LONGEST}


def test_normalizers(shared: Path) -> None:
    differences = Differences()
    for record in components(shared, "normalizer"):
        tok = load(UNKNOWN, normalizer=spelled_out(shared, record["config"]))
        for case, text in short_texts(shared).items():
            expected = record["changed"].get(case, text)
            assert isinstance(expected, str), (record["name"], case)
            name = f"{record['name']} on {case}"
            differences.compare(name, "text", tok.encode(text).normalized, expected)
    differences.check()


def test_pre_tokenizers(shared: Path) -> None:
    """The pieces and where they stand, but for a mark that nothing in the text produced."""
    differences = Differences()
    for record in components(shared, "pre_tokenizer"):
        tok = load(UNKNOWN, pre_tokenizer=record["config"])
        for case, expected in record["pieces"].items():
            if isinstance(expected, dict):
                # The reference panics where a piece it cut is too short; protok has an answer.
                assert set(expected) == {"error"}
                continue
            text = short_texts(shared)[case]
            encoding = tok.encode(text)
            name = f"{record['name']} on {case}"
            cut = [piece for piece, _, _ in expected]
            differences.compare(name, "pieces", pieces(tok, text), cut)
            spans = [(start, end) for start, end in encoding.offsets.tolist()]
            theirs = [(start, end) for _, start, end in expected]
            for place, (mine, other) in enumerate(zip(spans, theirs, strict=True)):
                # A mark by itself: nothing in the text produced it.
                mark = mine[0] == mine[1] and other in ((mine[0], mine[0] + 1), mine)
                differences.compare(name, f"span {place}", mine if mark else other, mine)
    differences.check()


def test_decoders(shared: Path) -> None:
    compared = 0
    for record in records(shared / "golden/decoders.jsonl"):
        for tokens, expected in record["cases"]:
            vocab = {token: id for id, token in enumerate(dict.fromkeys([*tokens, "[UNK]"]))}
            model = {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"}
            tok = load(model, decoder=record["config"])
            if not isinstance(expected, str):
                assert set(expected) == {"error"}
                continue
            decoded = tok.decode([vocab[token] for token in tokens], errors="reference")
            assert decoded == expected, (record["name"], tokens)
            compared += 1
    assert compared > 100
