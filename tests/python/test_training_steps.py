"""Training with marks, where others give another model on every run: an independent recount."""

from __future__ import annotations

from pydoc_data.topics import topics
from typing import Any

import pytest

from protok.training import Recipe, run
from protok.training.steps import steps

TEXT = "".join(topics[name] for name in sorted(topics))[:9_000].splitlines()


@pytest.mark.parametrize("tie", ["lowest-ids", "lexicographic-first", "first-seen"])
@pytest.mark.parametrize(
    "options",
    [
        {"symbols": "characters", "continuing_subword_prefix": "##"},
        {"symbols": "characters", "end_of_word_suffix": "</w>"},
        {
            "symbols": "characters",
            "continuing_subword_prefix": "##",
            "end_of_word_suffix": "</w>",
        },
        {"model": "wordpiece"},
        {"model": "wordpiece", "continuing_subword_prefix": ""},
    ],
)
def test_every_merge_has_the_highest_count(options: dict[str, Any], tie: Any) -> None:
    """Under ``lowest-ids`` of the highest pairs the first by ids is merged."""
    split = {"type": "WhitespaceSplit"}
    recipe = Recipe(vocab_size=260, pre_tokenizer=split, decoder=None, tie=tie, **options)
    training = run(recipe, TEXT, listed_ties=10_000)
    ids = {token: id for id, token in enumerate(training.tokenizer.vocab)}
    made: set[str] = set()
    assert len(training.merges) > 60
    for step in steps(training, len(training.merges)):
        merge, pairs = step.merge, dict(step.pairs)
        pair = (merge.left, merge.right)
        assert pairs[pair] == merge.count == max(pairs.values()), len(made)
        tied = {other for other, count in pairs.items() if count == merge.count}
        assert {*merge.ties} == tied - {pair}
        if tie == "lowest-ids":
            assert pair == min(tied, key=lambda p: (ids[p[0]], ids[p[1]]))
        elif tie == "lexicographic-first":
            assert pair == min(tied)
        else:
            # The recount reads the words in the order in which they were met.
            assert pair == next(other for other in pairs if other in tied)
        made.add(merge.token)
