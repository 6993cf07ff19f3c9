"""Counting and cutting conversations: what is counted is what the chat yields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import protok
from protok.budget.calibration import calibrate
from protok.budget.where import by_message

pytest.importorskip("jinja2")

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a place.",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string", "description": "A town."}},
                "required": ["place"],
            },
        },
    }
]
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is the weather in Rome, and what was it yesterday?"},
    {"role": "assistant", "content": "Sunny today, and rain yesterday."},
    {"role": "user", "content": "And in <|im_end|> Oslo?"},
    {"role": "assistant", "content": "Snow."},
    {"role": "user", "content": "Thanks. Where should I go?"},
]


@pytest.fixture(scope="module", params=["llama3.1", "qwen3", "deepseek-v3"])
def tok(request: pytest.FixtureRequest, shared: Path) -> protok.Tokenizer:
    return protok.load(shared / "artifacts" / request.param)


def test_case_V07(tok: protok.Tokenizer) -> None:
    """The count of a chat with tools is its number of ids, and its parts add up to that."""
    tools: list[list[dict[str, Any]] | None] = [None, TOOLS]
    for given in tools:
        chat = tok.chat(TALK, tools=given)
        assert tok.count(TALK, tools=given) == len(chat.ids)
        parts = by_message(tok, TALK, tools=given)
        assert sum(part.tokens for part in parts) == len(chat)
        named = {part.name: part.tokens for part in parts}
        assert named["1 system"] >= 1
        assert named["6 user"] >= tok.count(TALK[-1]["content"]) - 2
        assert named["template"] > len(TALK)
        assert ("tools" in named) is (given is not None and len(chat) > tok.count(TALK))
    assert tok.count(TALK, add_generation_prompt=False) < tok.count(TALK)


def test_turns_are_dropped_until_the_chat_fits(tok: protok.Tokenizer) -> None:
    whole = tok.count(TALK)
    for policy, first in (("oldest", (1, 2)), ("middle", (3, 4))):
        chosen: Any = policy
        assert tok.truncate_chat(TALK, whole, policy=chosen).dropped == ()
        cut = tok.truncate_chat(TALK, whole - 1, policy=chosen)
        assert cut.dropped == first
        assert cut.tokens == len(tok.chat([*cut.messages])) < whole
        assert cut.messages[0] == TALK[0]
        assert cut.messages[-1] == TALK[-1]
    with pytest.raises(protok.InputError, match="must be kept"):
        tok.truncate_chat(TALK, 3)


def test_no_chat_no_count(demo: protok.Tokenizer) -> None:
    with pytest.raises(protok.ProtokError):
        demo.count(TALK)


def test_usage_of_chats(tok: protok.Tokenizer) -> None:
    usage = [
        {"model": "m", "messages": TALK[: 2 * count], "tools": TOOLS,
         "usage": {"prompt_tokens": tok.count(TALK[: 2 * count], tools=TOOLS) + 5}}
        for count in (1, 2)
    ]  # fmt: skip
    [found] = calibrate(tok, json.loads(json.dumps(usage)))
    assert found.verdict == "overhead for each request"
