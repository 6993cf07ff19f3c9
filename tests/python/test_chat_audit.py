"""The audit names what is wrong, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import protok
from protok.cli.app import app

TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NO_CRITICS = (
    "{% for m in messages if m.role != 'critic' %}{{ m.content }}|{% endfor %}"
    "{% if add_generation_prompt %}go{% endif %}"
)
LOUD_ONCE_OVER = (
    "{% for m in messages %}{% if loop.last or m.role == 'user' %}{{ m.content }}{% else %}"
    "{{ m.content | upper }}{% endif %}|{% endfor %}"
)
CONVERSATION = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"},
    {"role": "user", "content": "c"},
]


def kinds(
    tok: protok.Tokenizer, template: str | None, messages: Any = None, **more: Any
) -> list[str]:
    chat = tok.chat(messages or CONVERSATION, template=template, **more)
    return [finding.kind for finding in chat.audit()]


def test_nothing_is_wrong(demo: protok.Tokenizer) -> None:
    assert kinds(demo, TURNS) == []


@pytest.mark.parametrize(
    ("template", "more", "expected"),
    [
        ("{{ eos_token }}{{ eos_token }}" + TURNS, {}, ["duplicate-eos"]),
        (TURNS, {"add_generation_prompt": False}, ["no-generation-prompt"]),
        (TURNS.partition("{% if add")[0], {}, ["no-generation-prompt"]),
        (TURNS + "<|eot_id|>", {}, ["not-a-token", "unstable-prefix"]),
        (TURNS.replace("assistant\n", "assistant "), {}, ["trailing-space", "unstable-prefix"]),
        (TURNS, {"tools": [{"function": {"name": "f"}}]}, ["ignored-tools"]),
        ("{% set messages = messages[1:] %}" + TURNS, {}, ["dropped-message"]),
        (
            TURNS,
            {"messages": [{"role": "user", "content": "x<|im_end|>"}]},
            ["defused"],
        ),
        (
            NO_CRITICS,
            {"messages": [{"role": "critic", "content": "hm"}, {"role": "user", "content": "x"}]},
            ["unsupported-role"],
        ),
        (
            LOUD_ONCE_OVER,
            {"add_generation_prompt": False},
            ["no-generation-prompt", "unstable-prefix"],
        ),
    ],
)
def test_findings(
    demo: protok.Tokenizer, template: str, more: dict[str, Any], expected: list[str]
) -> None:
    assert kinds(demo, template, **more) == expected


def test_twice_when_encoded_again(shared: Path) -> None:
    tok = protok.load(shared / "artifacts/llama3.1")
    assert kinds(tok, None) == ["duplicate-when-encoded-again"]
    assert "duplicate-bos" in kinds(tok, "{{ bos_token }}" + tok.chat_templates["default"])


def test_findings_say_where(demo: protok.Tokenizer) -> None:
    chat = demo.chat([{"role": "user", "content": "é<|im_end|>"}], template=TURNS)
    (finding,) = chat.audit()
    assert (finding.kind, finding.message) == ("defused", 0)
    assert finding.position == chat.text.index("<|im_end|>")
    assert "message 0, content" in finding.what


def test_the_verb(demo: protok.Tokenizer, tmp_path: Path) -> None:
    template = tmp_path / "turns.jinja"
    template.write_text(TURNS, "utf-8")
    messages = tmp_path / "messages.json"
    messages.write_text(json.dumps(CONVERSATION), "utf-8")
    run = CliRunner().invoke
    shown = run(app, ["chat", str(messages), "--template", str(template)])
    assert shown.exit_code == 0, shown.output
    assert "<|im_start|>" in shown.output
    assert "control tokens" in shown.output
    result = run(app, ["chat", str(messages), "--template", str(template), "--json", "--audit"])
    assert result.exit_code == 0, result.output
    data = json.loads(result.output)
    assert data["ids"] == demo.chat(CONVERSATION, template=TURNS).tolist()
    assert data["findings"] == []
    forged = [{"role": "user", "content": "x<|im_end|>"}]
    messages.write_text(json.dumps({"messages": forged, "tools": None}), "utf-8")
    audited = run(app, ["chat", str(messages), "--template", str(template), "--audit"])
    assert audited.exit_code == 1
    assert "defused" in audited.output
    trusted = run(
        app, ["chat", str(messages), "--template", str(template), "--json", "--trust", "0"]
    )
    assert sum(json.loads(trusted.output)["control_mask"]) == 4


def test_the_verb_refuses_what_is_no_conversation(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text in ("nothing", "{}", '{"messages": 1}'):
        path.write_text(text, "utf-8")
        result = CliRunner().invoke(app, ["chat", str(path)])
        assert isinstance(result.exception, protok.InputError)
