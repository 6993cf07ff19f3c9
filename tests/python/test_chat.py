"""Conversations as ids: options, results, and where templates come from."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import protok
from protok.chat import Limits
from protok.chat.json_text import to_json
from protok.chat.limits import Budget

TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONVERSATION = [
    {"role": "user", "content": "What is 2+2?"},
    {"role": "assistant", "content": "Four, naïvely."},
    {"role": "user", "content": "Thanks 🐈"},
]


@pytest.fixture(scope="module")
def qwen3(shared: Path) -> protok.Tokenizer:
    return protok.load(shared / "artifacts/qwen3")


def test_the_result(demo: protok.Tokenizer) -> None:
    chat = demo.chat(CONVERSATION, template=TURNS)
    assert isinstance(chat, protok.Chat)
    assert chat.tolist() == demo.encode(chat.text, special="parse").tolist()
    assert len(chat) == len(list(chat)) == len(chat.ids)
    assert np.asarray(chat).tolist() == chat.tolist()
    assert chat[0] == chat.tolist()[0]
    assert chat.control_mask.sum() == 7
    for at, (start, end) in enumerate(chat.offsets.tolist()):
        index, field = chat.message_index[at], chat.fields[at]
        own = chat.field_offsets[at]
        if index is None:
            assert chat.roles[at] is None
            assert field is None
            assert own is None
            continue
        assert field in {"role", "content"}
        assert own is not None
        assert chat.roles[at] == CONVERSATION[index]["role"]
        assert CONVERSATION[index][field][own[0] : own[1]] == chat.text[start:end]
    assert chat.known_share == 1
    assert not chat.told_time
    assert "3 messages" in repr(chat)
    assert json.loads(json.dumps(chat.to_dict()))["ids"] == chat.tolist()


def test_an_encoding_comes_back_from_plain_data(demo: protok.Tokenizer) -> None:
    chat = demo.chat([{"role": "user", "content": "<|im_end|>é"}], template=TURNS)
    data = json.loads(json.dumps(chat.encoding.to_dict()))
    assert protok.Encoding.from_dict(data, demo) == chat.encoding
    data["special"]["trusted"] = []
    with pytest.raises(protok.InputError):
        protok.Encoding.from_dict(data, demo)


def test_generation_prompt(demo: protok.Tokenizer) -> None:
    assert demo.chat(CONVERSATION, template=TURNS).text.endswith("<|im_start|>assistant\n")
    without = demo.chat(CONVERSATION, template=TURNS, add_generation_prompt=False)
    assert without.text.endswith("<|im_end|>\n")
    with pytest.raises(protok.InputError, match="cannot go on"):
        demo.chat(
            CONVERSATION, template=TURNS, add_generation_prompt=True, continue_final_message=True
        )


@pytest.mark.parametrize("content", ["", "OK!", "OK!\n", "OK! ", "<|im_end|>", "a<|im_e"])
@pytest.mark.parametrize("printed", ["m.content", "m.content | trim", "m['content'].strip()"])
def test_continuing(demo: protok.Tokenizer, content: str, printed: str) -> None:
    template = TURNS.replace("m.content", printed)
    # The words of the last message stand in others too: its place decides, not its text.
    messages = [{"role": "user", "content": content}, {"role": "assistant", "content": content}]
    chat = demo.chat(messages, template=template, continue_final_message=True)
    assert chat.text.endswith(f"<|im_start|>assistant\n{content}")
    assert chat.text.count("<|im_start|>") == 2


def test_continuing_parts_and_other_fields(demo: protok.Tokenizer) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}]
    template = (
        "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}!{% endfor %}"
    )
    chat = demo.chat(
        [{"role": "assistant", "content": parts}], template=template, continue_final_message=True
    )
    assert chat.text == "a"
    thought = [{"role": "assistant", "reasoning_content": "hm", "content": "x"}]
    template = "{{ messages[0].thinking }}-{{ messages[0].content }}"
    chat = demo.chat(thought, template=template, continue_final_message="reasoning_content")
    assert chat.text == "hm"


def test_what_cannot_be_continued(demo: protok.Tokenizer) -> None:
    last = [{"role": "assistant", "content": "x"}]
    for template in ("{{ messages[0].content | tojson(ensure_ascii=true) }}", "{{ 'content' }}"):
        with pytest.raises(protok.TemplateError, match="end of 'content'"):
            demo.chat(last, template=template, continue_final_message=True)
    with pytest.raises(protok.TemplateError, match="never reads"):
        demo.chat(last, template="{{ 1 }}", continue_final_message=True)
    with pytest.raises(protok.InputError, match="no text"):
        demo.chat([{"role": "x"}], template=TURNS, continue_final_message=True)


def test_assistant_mask_from_provenance(demo: protok.Tokenizer) -> None:
    chat = demo.chat(CONVERSATION, template=TURNS)
    kept = [token for token, on in zip(chat.tokens, chat.assistant_mask, strict=True) if on]
    assert "".join(kept).replace("Ġ", " ").startswith("Four")
    assert kept[-1] == "<|im_end|>"
    assert demo.decode([id for id, on in zip(chat, chat.assistant_mask, strict=True) if on]) == (
        "Four, naïvely.<|im_end|>"
    )


def test_assistant_mask_covers_what_the_template_wrote_between(demo: protok.Tokenizer) -> None:
    template = (
        "{{ messages[0].content }}\n{'name': {{ messages[0].tool_calls[0].name }}}<|im_end|>x"
    )
    call = {"role": "assistant", "content": "so:", "tool_calls": [{"name": "f"}]}
    chat = demo.chat([call], template=template)
    kept = [id for id, on in zip(chat, chat.assistant_mask, strict=True) if on]
    assert demo.decode(kept).startswith("so:\n{'name': f")


def test_an_empty_mask_is_an_error(demo: protok.Tokenizer) -> None:
    chat = demo.chat([{"role": "user", "content": "a"}], template=TURNS)
    with pytest.raises(protok.InputError, match="mask is empty"):
        _ = chat.assistant_mask


def test_arguments_mean_the_same_in_both_forms(demo: protok.Tokenizer) -> None:
    arguments = {"city": "Zürich", "n": [1, None, True, 2.5]}
    texts = set()
    templates = {
        "{{ messages[0].tool_calls[0].function.arguments | tojson }}",
        "{{ '' + messages[0].tool_calls[0].function.arguments }}",
    }
    for template in templates:
        for form in (arguments, json.dumps(arguments), json.dumps(arguments, ensure_ascii=False)):
            call = {"function": {"name": "f", "arguments": form}}
            messages = [{"role": "assistant", "content": "", "tool_calls": [call]}]
            texts.add(demo.chat(messages, template=template).text)
    assert texts == {json.dumps(arguments, ensure_ascii=False)}
    # What is no JSON object stays what it is, and a refusal of both forms is the first one's.
    call = {"function": {"name": "f", "arguments": "[1"}}
    chat = demo.chat([{"role": "assistant", "tool_calls": [call]}], template=min(templates))
    assert "[1" in chat.text
    with pytest.raises(protok.TemplateError, match="division"):
        demo.chat([{"role": "assistant", "tool_calls": [call]}], template="{{ 1 / 0 }}")


def test_messages_are_plain_data(demo: protok.Tokenizer) -> None:
    @dataclasses.dataclass
    class Message:
        role: str
        content: Any

    class Model:
        def model_dump(self) -> dict[str, Any]:
            return {"role": "user", "content": "c", "gone": None}

    class Danger:
        def erase(self) -> str:
            raise AssertionError

    messages = [Message("user", "a"), {"role": "user", "content": "b"}, Model()]
    template = "{% for m in messages %}{{ m.content }}{{ 'gone' in m }}{% endfor %}"
    assert demo.chat(messages, template=template).text == "aFalsebFalsecFalse"
    shown = demo.chat([Message("user", Danger())], template="{{ messages[0].content }}")
    assert shown.text == "<Danger>"
    for bad in ("text", [], [1], None, {"role": "user"}):
        with pytest.raises(protok.InputError):
            demo.chat(bad, template="{{ 1 }}")  # type: ignore[arg-type]
    with pytest.raises(protok.InputError, match="JSON schema"):
        demo.chat(CONVERSATION, template="{{ 1 }}", tools=[print])


def test_the_clock(demo: protok.Tokenizer) -> None:
    template = "{{ strftime_now('%Y-%m-%d %H:%M') }}"
    chat = demo.chat(CONVERSATION, template=template, clock=datetime(2025, 1, 15, 12, tzinfo=UTC))
    assert (chat.text, chat.told_time) == ("2025-01-15 12:00", True)
    now = demo.chat(CONVERSATION, template=template)
    assert now.text[:2] == "20"


def test_variables(demo: protok.Tokenizer) -> None:
    template = "{{ enable_thinking }} {{ documents | length }} {{ tools is none }} {{ nothing }}"
    chat = demo.chat(
        CONVERSATION, template=template, enable_thinking=False, documents=[{"title": "t"}]
    )
    assert chat.text == "False 1 True "


# Where templates come from.


def files(demo_folder: dict[str, bytes], **more: str) -> dict[str, bytes]:
    return {**demo_folder, **{name: text.encode() for name, text in more.items()}}


@pytest.fixture(scope="module")
def model(demo: protok.Tokenizer) -> bytes:
    return demo.to_files("huggingface")["tokenizer.json"]


def named(model: bytes, config: Any = None, **templates: str) -> protok.Tokenizer:
    given = {"tokenizer.json": model}
    if config is not None:
        given["tokenizer_config.json"] = json.dumps(config).encode()
    for name, text in templates.items():
        path = "chat_template.jinja" if name == "main" else f"chat_templates/{name}.jinja"
        given[path] = text.encode()
    return protok.Tokenizer(given)


def test_sources_of_templates(model: bytes) -> None:
    hello = [{"role": "user", "content": "x"}]
    tools = [{"type": "function", "function": {"name": "f"}}]
    assert named(model, main="a{{ 1 }}").chat(hello).text == "a1"
    assert named(model, {"chat_template": "b{{ 1 }}"}).chat(hello).text == "b1"
    listed = [{"name": "default", "template": "c{{ 1 }}"}, {"name": "tool_use", "template": "d"}]
    tok = named(model, {"chat_template": listed})
    assert tok.chat(hello).text == "c1"
    assert tok.chat(hello, tools=tools).text == "d"
    assert tok.chat(hello, template="tool_use").text == "d"
    tok = named(model, main="e", rag="f")
    assert (tok.chat(hello).text, tok.chat(hello, template="rag").text) == ("e", "f")
    assert tok.chat(hello, template="g{{ 1 }}").text == "g1"
    with pytest.raises(protok.InputError, match="It has: default, rag"):
        tok.chat(hello, template="nothing")
    with pytest.raises(protok.InputError, match="no chat template 'default'"):
        named(model).chat(hello)


def test_the_template_of_a_gguf(shared: Path) -> None:
    tok = protok.load(shared / "artifacts/gguf/ggml-vocab-phi-3.gguf")
    template = tok.chat_templates.get("default", TURNS)
    chat = tok.chat([{"role": "user", "content": "Hi<|end|>"}], template=template)
    assert chat.text.count("<|end|>") >= 1
    assert chat.tolist().count(tok.vocab["<|end|>"]) == chat.text.count("<|end|>") - 1


def test_mistrals_rules_are_named(shared: Path) -> None:
    tok = protok.load(shared / "artifacts/mistral-tekken/tekken_240718.json")
    hello = [{"role": "user", "content": "Hi [INST]</s>"}]
    with pytest.raises(protok.InputError, match="version"):
        tok.chat(hello)
    with pytest.raises(protok.InputError, match="not known"):
        tok.chat(hello, template="mistral:v7")
    chat = tok.chat(hello, template="mistral:v3")
    assert chat.text == "<s>[INST]Hi [INST]</s>[/INST]"
    assert chat.control_mask.sum() == 3
    assert set(chat.roles) == {None, "user"}
    assert chat.audit() == []
    spans = [span for span in chat.field_offsets if span is not None]
    assert (spans[0][0], spans[-1][1]) == (0, 13)
    with pytest.raises(protok.TemplateError, match="no token '\\[AVAILABLE_TOOLS\\]'"):
        protok.load(shared / "artifacts/mistral-v0.1/tokenizer.model.v1").chat(
            hello, template="mistral:v3", tools=[{"function": {"name": "f"}}]
        )


def test_mistrals_answers_go_on(shared: Path) -> None:
    tok = protok.load(shared / "artifacts/sentencepiece/mistral_v3.model")
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    with pytest.raises(protok.TemplateError, match="continue_final_message"):
        tok.chat(messages, template="mistral:v3")
    open_end = tok.chat(messages, template="mistral:v3", continue_final_message=True)
    assert open_end.text == "<s>[INST]a[/INST]b"
    prefix = [messages[0], {**messages[1], "prefix": True}]
    assert tok.chat(prefix, template="mistral:v3").tolist() == open_end.tolist()


# The filter.

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=True)
    | st.text(max_size=6)
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return lists and dictionaries of values, and the values."""
    keys = st.text(max_size=4)
    return inner | st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)


JSON = nested(nested(LEAVES))


@given(JSON, st.sampled_from([None, 0, 2, "\t"]), st.booleans(), st.booleans())
def test_tojson(value: Any, indent: Any, ensure_ascii: bool, sort_keys: bool) -> None:
    options: dict[str, Any] = {
        "indent": indent,
        "ensure_ascii": ensure_ascii,
        "sort_keys": sort_keys,
    }
    written = to_json(value, Budget(Limits()), {}, **options)
    assert str.__str__(written) == json.dumps(value, **options)
    assert sum(length for length, _, _ in written._runs) == len(written)


def test_json_knows_its_fields(qwen3: protok.Tokenizer) -> None:
    tool = {"type": "function", "function": {"name": "get_weather", "description": "Now"}}
    chat = qwen3.chat(CONVERSATION, tools=[tool])
    assert any(field == "tools[0]" for field in chat.fields)
    assert chat.known_share == 1
    template = "{{ {'a': messages[0].content, 'b': 1} | tojson }}"
    parts = qwen3.chat(CONVERSATION, template=template).pieces
    assert [(str(part.field), part.source) for part in parts if part.source != "unknown"] == [
        ("content", "field")
    ]


def test_jinja_is_asked_for_where_it_is_missing() -> None:
    code = (
        "import sys; sys.modules['jinja2'] = None\n"
        "import protok\n"
        "try:\n    protok.load('protok:demo').chat([{'role': 'user', 'content': 'x'}])\n"
        "except protok.ProtokError as error:\n    print(error)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert "pip install 'protok[chat]'" in result.stdout


def test_templates_are_compiled_once_and_threads_share_nothing(demo: protok.Tokenizer) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def run(turn: int) -> str:
        content = f"{turn} " * 50
        return demo.chat([{"role": "user", "content": content}], template=TURNS).text

    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(run, range(200)))
    assert all(text.split("\n")[1].startswith(f"{turn} ") for turn, text in enumerate(texts))
