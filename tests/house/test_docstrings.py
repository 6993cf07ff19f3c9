"""What the compiled module says of itself: every public method is described, and examples run."""

from __future__ import annotations

import doctest
from types import GetSetDescriptorType

import pytest

from protok import _core

CLASSES = [
    _core.Tokenizer,
    _core.Encoding,
    _core.Batch,
    _core.Vocab,
    _core.TokenBytes,
    _core.AddedToken,
    _core.ControlToken,
    _core.Contradiction,
    _core.Stream,
    _core.StopMatcher,
    _core.Utf8Stream,
]
# What the Python package wraps, and describes there.
WRAPPED = {"sample", "nbest", "to_files", "describe", "trace_json", "inspect_json"}
NO_PARAMETERS = {"tolist", "all_bytes", "to_dict", "finish", "copy"}  # or, of one class, none
FLAGS = doctest.NORMALIZE_WHITESPACE


def members() -> list[tuple[str, object]]:
    return [
        (f"{cls.__name__}.{name}", getattr(cls, name))
        for cls in CLASSES
        for name in vars(cls)
        if not name.startswith("_")
    ]


@pytest.mark.parametrize(("name", "member"), members())
def test_every_member_is_described(name: str, member: object) -> None:
    text = member.__doc__
    assert text, name
    method = name.rpartition(".")[2]
    if isinstance(member, GetSetDescriptorType) or method in WRAPPED:
        return
    if method not in NO_PARAMETERS:
        assert "\nParameters\n---" in text, name
    if method != "tolist":
        assert "\nReturns\n---" in text, name
        assert "\nExamples\n---" in text, name


def test_the_examples_run() -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=FLAGS)
    examples = 0
    for name, member in members():
        test = parser.get_doctest(member.__doc__ or "", {}, name, None, 0)
        examples += len(test.examples)
        runner.run(test)
    assert examples > 50
    assert runner.summarize(verbose=False).failed == 0
