"""Nothing is forged in a fixed sample of random conversations, and a forgery would be noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from differential.chats import PAIRS, Checker, Pair, Tally

SAMPLE = 24


def test_every_template_is_among_them(shared: Path) -> None:
    templates = {path.name for path in (shared / "artifacts/chat-templates").iterdir()}
    assert templates <= {Path(pair.template).name for pair in PAIRS if pair.template}


def test_sample(shared: Path) -> None:
    total = Tally()
    for pair in PAIRS:
        checker, tally = Checker(pair, shared), Tally()
        for seed in range(SAMPLE):
            checker.check(seed, tally)
        assert tally.counts["rendered"] > 0, pair.name
        total.counts += tally.counts
    print(f"{total.share:.1%} of the pairs that render are checked: {total}")
    assert total.share >= 0.7
    assert total.counts["control"] > 2000
    assert total.counts["defused"] > 200


class Trusting(Checker):
    """A checker of a chat that believes its messages."""

    def chat(self, variables: dict[str, Any]) -> Any:
        chat = super().chat(variables)
        options = {**chat._options, "trust": "all", "template": self.passed}
        return self.tok.chat(
            variables["messages"],
            **{key: options[key] for key in ("tools", "trust", "template", "clock")},
            add_generation_prompt=variables["add_generation_prompt"],
            arguments="as_given",
        )


def test_a_forgery_is_noticed(shared: Path) -> None:
    checker = Trusting(Pair("qwen3", "qwen3", None, "composition"), shared)

    def check() -> None:
        for seed in range(SAMPLE):
            checker.check(seed, Tally())

    with pytest.raises(AssertionError, match="forged"):
        check()
