"""Rendered text, ids and refusals of whole conversations equal the originals' recorded ones."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

import protok
from protok.chat import conversation
from protok.chat.inputs import Inputs
from protok.chat.limits import Limits
from protok.chat.provenance import GENERATION, runs_of
from protok.chat.rendering import Rendered, compile_template, render

CLOCK = datetime(2025, 1, 15, 12)  # noqa: DTZ001  (the goldens' clock has no zone)
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
MISTRAL = {
    "v1": "mistral-v0.1/tokenizer.model.v1",
    "v3": "sentencepiece/mistral_v3.model",
    "v3-tekken": "mistral-tekken/tekken_240718.json",
}
# The templates without a tokenizer, and the artifact that each is encoded with below.
PAIRED = {
    "lc_CohereForAI-c4ai-command-r-plus-tool_use.jinja": "llama3.1",
    "lc_CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja": "gpt-oss",
    "lc_NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja": "qwen3",
    "lc_Qwen-Qwen2.5-7B-Instruct.jinja": "qwen3",
    "lc_deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja": "deepseek-v3",
    "lc_meetkai-functionary-medium-v3.1.jinja": "llama3.1",
    "lc_meetkai-functionary-medium-v3.2.jinja": "llama3.1",
    "lc_mistralai-Mistral-Nemo-Instruct-2407.jinja": "mistral-v0.1",
    "trl_cohere2.jinja": "llama3.1",
    "trl_deepseekv3.jinja": "deepseek-v3",
    "trl_gemma.jinja": "gemma3",
    "trl_gemma3.jinja": "gemma3",
    "trl_glm4moe.jinja": "qwen3",
    "trl_gptoss.jinja": "gpt-oss",
    "trl_lfm2_2_5.jinja": "qwen3",
    "trl_llama3_1.jinja": "llama3.1",
    "trl_llama3_2.jinja": "llama3.1",
    "trl_llama3_training.jinja": "llama3.1",
    "trl_nemotron_3_nano.jinja": "qwen3",
    "trl_phi3_5.jinja": "mistral-v0.1",
    "trl_qwen3.jinja": "qwen3",
    "trl_qwen3_5_think.jinja": "qwen3",
    "trl_qwen3_instruct_2507.jinja": "qwen3",
    "trl_qwen3_training.jinja": "qwen3",
}


def records(shared: Path, name: str) -> list[dict[str, Any]]:
    lines = (shared / "golden" / f"{name}.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


@pytest.fixture(scope="module")
def conversations(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "golden/conversations.json").read_text("utf-8"))
    return found


@lru_cache(maxsize=2)
def load(path: Path) -> protok.Tokenizer:
    return protok.load(path)


def run(
    tok: protok.Tokenizer, template: str | None, given: dict[str, Any], **options: Any
) -> protok.Chat | protok.ProtokError:
    try:
        return tok.chat(
            given["messages"],
            tools=given.get("tools"),
            add_generation_prompt=given["add_generation_prompt"],
            continue_final_message=given.get("continue_final_message", False),
            template=template,
            clock=CLOCK,
            **{"arguments": "as_given", **given.get("kwargs", {}), **options},
        )
    except protok.ProtokError as error:
        return error


def test_artifacts(shared: Path, conversations: dict[str, Any]) -> None:
    seen: Counter[str] = Counter()
    for record in records(shared, "chat"):
        folder = shared / "artifacts" / record["artifact"]
        tok = load(folder)
        own = record["template"] == "own"
        template = None if own else (folder / record["template"]).read_text("utf-8")
        given = conversations[record["conversation"]]
        where = (record["artifact"], record["conversation"])
        result = run(tok, template, given, trust="all")
        if "error" in record:
            assert isinstance(result, protok.ProtokError), where
            # Of an empty conversation each says so in its own words.
            if record["error"]["type"] != "ValueError":
                assert isinstance(result, protok.TemplateError)
                assert record["error"]["message"] in result.what, where
            seen["refused"] += 1
            continue
        assert isinstance(result, protok.Chat), (where, result)
        assert result.text == record["text"], where
        assert result.tolist() == record["ids"], where
        default = run(tok, template, given)
        assert isinstance(default, protok.Chat)
        findings = {finding.kind for finding in default.audit()}
        if "defused" in findings:
            assert default.tolist() != record["ids"], where
            seen["defused"] += 1
        else:
            assert default.tolist() == record["ids"], where
            seen["equal"] += 1
    assert seen == {"refused": 17, "equal": 109, "defused": 6}


def low_level(template: str, given: dict[str, Any]) -> Rendered | protok.TemplateError:
    """Render as the goldens were made: below the checks of `chat`, with keys that are None."""
    inputs = Inputs(SPECIAL)
    inputs.add_messages(given["messages"], arguments="as_given", drop_none=False)
    inputs.add("tools", given.get("tools"))
    inputs.add("documents", None)
    inputs.variables["add_generation_prompt"] = given["add_generation_prompt"]
    for name, value in given.get("kwargs", {}).items():
        inputs.add(name, value)
    goes_on = given.get("continue_final_message", False)
    if goes_on:
        inputs.append_to_last("content", conversation.CONTINUE)
    try:
        rendered = render(compile_template(template, Limits()), inputs, Limits(), CLOCK)
    except protok.TemplateError as error:
        return error
    if goes_on:
        rendered = rendered._replace(text=conversation.cut(rendered.text, inputs, "content"))
    return rendered


def test_templates(shared: Path, conversations: dict[str, Any]) -> None:
    seen: Counter[str] = Counter()
    for record in records(shared, "chat_templates"):
        path = shared / "artifacts/chat-templates" / record["template"]
        where = (record["template"], record["conversation"])
        result = low_level(path.read_text("utf-8"), conversations[record["conversation"]])
        if "error" in record:
            assert isinstance(result, protok.TemplateError), where
            assert record["error"]["message"] in result.what, where
            seen["refused"] += 1
            continue
        assert isinstance(result, Rendered), (where, result)
        assert str(result.text) == record["text"], where
        seen["rendered"] += 1
        if "generation_spans" in record:
            marked, here = set(), 0
            for length, source, _ in runs_of(result.text):
                if source & GENERATION:
                    marked |= set(range(here, here + length))
                here += length
            spans = record["generation_spans"]
            assert marked == {at for start, end in spans for at in range(start, end)}, where
            seen["generation"] += 1
    assert seen == {"refused": 98, "rendered": 430, "generation": 22}


def test_templates_encode_as_their_text(shared: Path, conversations: dict[str, Any]) -> None:
    """With nothing to defuse the ids of a chat are those of its text, read with control tokens."""
    assert {path.name for path in (shared / "artifacts/chat-templates").iterdir()} == set(PAIRED)
    equal = 0
    for name, artifact in sorted(PAIRED.items(), key=lambda pair: pair[1]):
        tok = load(shared / "artifacts" / artifact)
        template = (shared / "artifacts/chat-templates" / name).read_text("utf-8")
        for key, given in conversations.items():
            chat = run(tok, template, given)
            if not isinstance(chat, protok.Chat):
                continue
            plain = tok.encode(chat.text, add_special_tokens=False, special="parse").tolist()
            trusted = run(tok, template, given, trust="all")
            assert isinstance(trusted, protok.Chat)
            assert trusted.tolist() == plain, (name, key)
            if key not in {"control-strings", "think"}:
                assert chat.tolist() == plain, (name, key)
                equal += 1
    assert equal > 350


@pytest.mark.parametrize("version", MISTRAL)
def test_mistral(shared: Path, conversations: dict[str, Any], version: str) -> None:
    tok = load(shared / "artifacts" / MISTRAL[version])
    seen: Counter[str] = Counter()
    for record in records(shared, "mistral_chat"):
        if record["tokenizer"].split(" ")[0] != version:
            continue
        given = conversations[record["conversation"]]
        where = record["conversation"]
        for trust in (None, "all"):
            try:
                chat = tok.chat(
                    given["messages"],
                    tools=given.get("tools"),
                    template=f"mistral:{version[:2]}",
                    trust=trust,
                )
            except protok.ProtokError:
                assert "error" in record, where
                seen["refused"] += 1
                continue
            assert "error" not in record, where
            assert chat.tolist() == record["ids"], where
            seen["equal"] += 1
            pieces = "".join(chat.tokens)
            if version != "v3-tekken":  # there the text is decoded, not spelled
                assert pieces == record["text"], where
    assert seen["equal"] + seen["refused"] == 44
    assert seen["equal"] >= 24
