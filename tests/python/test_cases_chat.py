"""Cases from other projects: chat templates, and special tokens in chats."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import protok

TURNS = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}"
    "<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
ARTIFACTS = ("qwen3", "llama3.1", "gemma3", "deepseek-v3", "gpt-oss")


@pytest.fixture(scope="module")
def llama3(shared: Path) -> protok.Tokenizer:
    return protok.load(shared / "artifacts/llama3.1")


@pytest.fixture(scope="module")
def cl100k(shared: Path) -> protok.Tokenizer:
    return protok.load(shared / "artifacts/tiktoken/cl100k_base.tiktoken", encoding="cl100k_base")


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    lines = (shared / "cases/cases.jsonl").read_text("utf-8").split("\n")
    return {case["id"]: case for case in map(json.loads, filter(None, lines))}


def user(content: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content}]


def test_the_areas_are_covered(cases: dict[str, Any]) -> None:
    here = {name.removeprefix("test_case_") for name in globals() if name.startswith("test_case_")}
    wanted = {
        id for id, case in cases.items() if case["area"] in {"chat-template", "special-tokens"}
    }
    assert here == wanted


@pytest.mark.parametrize("content", ["hi", "<|begin_of_text|>hi", ""])
def test_case_S01(llama3: protok.Tokenizer, content: str) -> None:
    begin = llama3.vocab["<|begin_of_text|>"]
    chat = llama3.chat(user(content))
    assert chat.tolist().count(begin) == 1
    # Rendered text is complete; encoding it again is reported, and is right without the template.
    assert "duplicate-when-encoded-again" in {finding.kind for finding in chat.audit()}
    again = llama3.encode(chat.text, add_special_tokens=False, special="parse")
    if not content.startswith("<"):
        assert again.tolist() == chat.tolist()


@pytest.mark.parametrize("rest", ["", " thanks", "\n"])
def test_case_S02(llama3: protok.Tokenizer, cases: dict[str, Any], rest: str) -> None:
    (content,) = cases["S02"]["inputs"]
    content += rest
    chat = llama3.chat(user(content), template=TURNS, add_generation_prompt=False)
    ids = chat.tolist()
    assert ids.count(llama3.vocab["<|eot_id|>"]) == cases["S02"]["expected"]["end_of_turn_count"]
    assert ids.count(llama3.vocab["<|start_header_id|>"]) == 1
    said = [id for id, field in zip(ids, chat.fields, strict=True) if field == "content"]
    assert llama3.decode(said) == content.strip()


def test_case_S03(cl100k: protok.Tokenizer, cases: dict[str, Any]) -> None:
    (text,) = cases["S03"]["inputs"]
    expected = cases["S03"]["expected"]
    for special in ("text", "parse"):
        found = cl100k.encode(text, add_special_tokens=False, special=special)
        assert found.tolist() == expected[f"ids under special='{special}'"]
    assert cl100k.count(text) == len(expected["ids under special='text'"])
    with pytest.raises(protok.SpecialTokenError, match="special=") as refused:
        cl100k.encode(text)
    assert (refused.value.position, refused.value.value) == (1, "<|endoftext|>")


def test_case_S05(shared: Path, cases: dict[str, Any]) -> None:
    (content,) = cases["S05"]["inputs"]
    expected = cases["S05"]["expected"]
    tekken = protok.load(shared / "artifacts/mistral-tekken/tekken_240718.json")
    assert tekken.chat(user(content), template="mistral:v3").tolist() == expected["ids"]
    v1 = protok.load(shared / "artifacts/mistral-v0.1/tokenizer.model.v1")
    assert v1.chat(user(content), template="mistral:v1").tolist() == expected["v1 SPM ids"]


def test_case_S06(llama3: protok.Tokenizer, shared: Path) -> None:
    # The option is of the call: it takes effect at once, for every family.
    for tok in (llama3, protok.load(shared / "artifacts/t5-base")):
        plain = tok.encode("hi", add_special_tokens=False)
        marked = tok.encode("hi", add_special_tokens=True)
        assert len(marked) == len(plain) + 1
        assert tok.encode("hi", add_special_tokens=False) == plain
        kept = protok.Tokenizer(tok.to_files("huggingface"))
        assert kept.encode("hi").tolist() == marked.tolist()
        assert tok.spec.post_processor is not None


@pytest.mark.parametrize("printed", ["m.content | trim", "m.content", "m['content'].rstrip()"])
def test_case_H01(llama3: protok.Tokenizer, cases: dict[str, Any], printed: str) -> None:
    template = TURNS.replace("m.content | trim", printed)
    endings = []
    for content in cases["H01"]["inputs"]:
        messages = [*user("OK!"), {"role": "assistant", "content": content}]
        text = llama3.chat(messages, template=template, continue_final_message=True).text
        endings.append(text.rpartition("\n\n")[2])
    assert endings == cases["H01"]["expected"]["endings"]


def test_case_H03(llama3: protok.Tokenizer) -> None:
    answered = [*user("a"), {"role": "assistant", "content": "b"}]
    chat = llama3.chat(answered, template=TURNS, add_generation_prompt=False)
    kept = [id for id, on in zip(chat, chat.assistant_mask, strict=True) if on]
    assert llama3.decode(kept) == "b<|eot_id|>"
    with pytest.raises(protok.InputError, match="empty"):
        _ = llama3.chat(user("a"), template=TURNS).assistant_mask


def test_case_H04(shared: Path, cases: dict[str, Any]) -> None:
    tok = protok.load(shared / "artifacts/llama3.1/tokenizer.model")
    template = (
        "{% for m in messages %}{% if m.role == 'assistant' %}"
        "{% generation %}{{ m.content }}{% endgeneration %}{% else %}<u>{{ m.content }}{% endif %}"
        "{% endfor %}"
    )
    first, second = cases["H04"]["inputs"]
    messages = [{"role": "assistant", "content": first}, *user(second)]
    chat = tok.chat(messages, template=template)
    assert chat.assistant_mask.tolist() == cases["H04"]["expected"]["mask"]


@pytest.mark.parametrize("indent", [None, 2])
def test_case_H05(llama3: protok.Tokenizer, cases: dict[str, Any], indent: int | None) -> None:
    tools = [{"d": "한 <b> & 'x' /", "a": 1, "Z": None}]
    template = "{{ tools | tojson(indent=" + repr(indent).lower() + ") }}"
    text = llama3.chat(user("x"), tools=tools, template=template).text
    assert text == json.dumps(tools, ensure_ascii=False, indent=indent)
    exact = llama3.chat(user("x"), tools=[{"d": tools[0]["d"]}], template="{{ tools | tojson }}")
    assert exact.text == cases["H05"]["expected"]["text"]


def test_case_H06(llama3: protok.Tokenizer, cases: dict[str, Any]) -> None:
    template = "{{ messages[0].tool_calls[0].function.arguments | tojson }}"
    for arguments in ({"a": 1}, '{"a": 1}', '{"a":1}'):
        call = {"type": "function", "function": {"name": "f", "arguments": arguments}}
        messages = [{"role": "assistant", "content": "", "tool_calls": [call]}]
        chat = llama3.chat(messages, template=template)
        assert chat.text == cases["H06"]["expected"]["both render"]
        reshaped = [found for found in chat.audit() if found.kind == "arguments-reshaped"]
        assert [found.message for found in reshaped] == ([0] if isinstance(arguments, str) else [])


@pytest.mark.parametrize("format", ["%Y-%m-%d", "%d %B %Y %H:%M:%S", "%j %U %p"])
def test_case_H07(llama3: protok.Tokenizer, format: str) -> None:
    clock = datetime(2024, 2, 29, 23, 59, 1, tzinfo=UTC)
    chat = llama3.chat(user("x"), template="{{ strftime_now('" + format + "') }}", clock=clock)
    assert chat.text == clock.strftime(format)
    assert chat.told_time
    assert not llama3.chat(user("x"), template=TURNS).told_time


@pytest.mark.parametrize("artifact", ARTIFACTS)
def test_case_H08(shared: Path, artifact: str) -> None:
    tok = protok.load(shared / "artifacts" / artifact)
    for messages in (user("hi"), [*user("a"), {"role": "assistant", "content": "b"}, *user("c")]):
        chat = tok.chat(messages)
        again = tok.encode(chat.text, add_special_tokens=False, special="parse")
        assert chat.tolist() == again.tolist()


def test_case_H09(shared: Path, llama3: protok.Tokenizer) -> None:
    messages = [
        *user("a"),
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nb"},
        *user("c"),
    ]
    tok = protok.load(shared / "artifacts/qwen3")
    (unstable,) = [f for f in tok.chat(messages).audit() if f.kind == "unstable-prefix"]
    assert unstable.message == 2
    stable = llama3.chat(messages, template=TURNS).audit()
    assert "unstable-prefix" not in {finding.kind for finding in stable}


@pytest.mark.parametrize("kept", [8, 9, 10])
def test_case_H10(llama3: protok.Tokenizer, kept: int) -> None:
    messages = [*user("a"), {"role": "assistant", "content": "one two three four five six seven"}]
    chat = llama3.chat(messages, template=TURNS, add_generation_prompt=False)
    mask = chat.assistant_mask
    first = mask.tolist().index(1)
    cut = mask[: first + kept - 7]
    assert cut.sum() == kept - 7
    assert chat.ids[: len(cut)].shape == cut.shape
