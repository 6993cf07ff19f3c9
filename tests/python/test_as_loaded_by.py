"""What configuration files say: contradictions, roles, templates, refusals."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import protok

Writer = Callable[[dict[str, bytes]], Path]
SPECIAL = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")


def tokenizer(**parts: Any) -> bytes:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tokens = [*SPECIAL, "a", "b", ",", "."]
    return json.dumps(
        {
            "added_tokens": [
                {"id": id, "content": token, **flags, "special": True}
                for id, token in enumerate(SPECIAL)
            ],
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": {token: id for id, token in enumerate(tokens)},
            },
            **parts,
        }
    ).encode()


def folder(write: Writer, config: dict[str, Any], **more: bytes) -> Path:
    return write(
        {
            "tokenizer.json": tokenizer(),
            "tokenizer_config.json": json.dumps(config).encode(),
            **more,
        }
    )


def test_a_contradiction_is_one_warning_that_says_what_to_do(folder_of: Writer) -> None:
    source = folder(folder_of, {"tokenizer_class": "BertTokenizer", "do_lower_case": False})
    with pytest.warns(protok.ArtifactWarning) as caught:
        tok = protok.load(source)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.startswith(str(source))
    assert caught[0].filename == __file__
    for part in ("normalizer", "post_processor", "tokenizer_class", 'as_loaded_by="transformers"'):
        assert part in message
    assert {found.component for found in tok.contradictions} == {
        "normalizer",
        "post_processor",
        "decoder",
    }
    found = tok.contradictions[0]
    assert (found.component, found.file) == ("normalizer", "none")
    assert found.transformers.startswith("BertNormalizer(clean_text=true")
    assert tok.encode("a").tolist() == [5]
    as_loaded = protok.load(source, as_loaded_by="transformers")
    assert as_loaded.encode("a").tolist() == [1, 5, 2]
    assert as_loaded.contradictions == []


def test_an_option_that_changes_nothing_is_silent(folder_of: Writer) -> None:
    config = {
        "add_bos_token": True,
        "add_prefix_space": True,
        "clean_up_tokenization_spaces": False,
        "cls_token": "[CLS]",
        "do_lower_case": True,
        "legacy": True,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tok = protok.load(folder(folder_of, config))
    as_loaded = protok.load(folder(folder_of, config), as_loaded_by="transformers")
    assert as_loaded.encode("a b").tolist() == tok.encode("a b").tolist() == [5, 6]


def test_roles_and_templates_come_from_the_files(folder_of: Writer) -> None:
    config = {
        "eos_token": "[SEP]",
        "pad_token": "[PAD]",
        "image_token": "[MASK]",
        "additional_special_tokens": ["[CLS]"],
        "chat_template": [
            {"name": "default", "template": "in the config"},
            {"name": "tools", "template": "{{ tools }}"},
        ],
    }
    source = folder(
        folder_of,
        config,
        **{
            "chat_template.jinja": b"in its file",
            "generation_config.json": b'{"eos_token_id": [2, 4]}',
        },
    )
    (source / "additional_chat_templates").mkdir()
    (source / "additional_chat_templates" / "rag.jinja").write_text("{{ documents }}")
    for as_loaded_by in (None, "transformers"):
        tok = protok.load(source, as_loaded_by=as_loaded_by)
        assert tok.chat_templates == {
            "default": "in its file",
            "rag": "{{ documents }}",
            "tools": "{{ tools }}",
        }
        assert next(iter(tok.chat_templates)) == "default"
        assert tok.roles["eos"] == "[SEP]"
        assert tok.roles["pad"] == "[PAD]"
        assert tok.role_tokens["eos"] == ["[SEP]", "[MASK]"]
        assert tok.role_tokens["additional"] == ["[CLS]"]
    assert tok.roles["image"] == "[MASK]"


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"split_special_tokens": True}, "split_special_tokens"),
        ({"tokenizer_class": "WhisperTokenizer"}, "tokenizer_class"),
        ({"tokenizer_class": "LlamaTokenizer"}, "tokenizer_class"),
        ({"tokenizer_class": "BertTokenizer", "do_lower_case": "yes"}, "do_lower_case"),
        ({"auto_map": {"AutoTokenizer": ["code.T", None]}}, "auto_map"),
        ({"cls_token": {"content": "[CLS]"}}, "cls_token"),
        ({"init_inputs": ["vocab.txt"]}, "init_inputs"),
        ({"added_tokens_decoder": {"0": {"content": "a", "x": 1}}}, "added_tokens_decoder.0.x"),
    ],
)
def test_what_cannot_be_followed_is_named(
    folder_of: Writer, config: dict[str, Any], field: str
) -> None:
    source = folder(folder_of, config)
    with pytest.raises(protok.ArtifactError) as caught:
        protok.load(source, as_loaded_by="transformers")
    assert caught.value.location == f"tokenizer_config.json.{field}"
    assert caught.value.hint
    tok = protok.load(source)
    assert any("would be refused" in note for note in tok.warnings)
    assert tok.contradictions == []


def test_only_a_tokenizer_json_is_followed(gpt2_files: dict[str, bytes]) -> None:
    with pytest.raises(protok.ArtifactError, match="transformers converts"):
        protok.Tokenizer(gpt2_files, as_loaded_by="transformers")
    with pytest.raises(protok.InputError, match="as_loaded_by"):
        protok.load("protok:demo", as_loaded_by="other")  # type: ignore[arg-type]


def test_what_was_followed_can_be_saved_and_sent(folder_of: Writer, tmp_path: Path) -> None:
    config = {"clean_up_tokenization_spaces": True, "mask_token": "<mask>"}
    tok = protok.load(folder(folder_of, config), as_loaded_by="transformers")
    ids = tok.encode("a , b <mask> .", special="parse").tolist()
    assert ids == [5, 7, 6, 9, 8]
    assert tok.decode(ids) == "a, b <mask>."
    tok.save(tmp_path / "out")
    for again in (protok.load(tmp_path / "out"), pickle.loads(pickle.dumps(tok))):
        assert again.fingerprint == tok.fingerprint
        assert again.decode(ids) == tok.decode(ids)


def test_blanks_are_tidied_where_a_call_asks_for_it(demo: protok.Tokenizer) -> None:
    text = "I 'm here , are n't I ? \ufffd 've"
    ids = demo.encode(text).tolist()
    assert demo.decode(ids) == text
    assert demo.decode(ids, clean_up_spaces=True) == "I'm here, aren't I? \ufffd've"
    assert demo.decode_batch([ids, ids[:0]], clean_up_spaces=True) == [
        "I'm here, aren't I? \ufffd've",
        "",
    ]
    assert demo.decode_bytes(ids).decode() == text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("CodeLlamaTokenizer", "does more than the pipeline"),
        ("LayoutLMv3Tokenizer", "does more than the pipeline"),
        ("MBart50Tokenizer", "number it anew"),
    ],
)
def test_classes_that_a_spec_cannot_say(folder_of: Writer, name: str, message: str) -> None:
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", "a"]
    model = {"type": "Unigram", "unk_id": 3, "vocab": [[piece, 0.0] for piece in pieces]}
    source = folder_of(
        {
            "tokenizer.json": json.dumps({"added_tokens": [], "model": model}).encode(),
            "tokenizer_config.json": json.dumps({"tokenizer_class": name}).encode(),
        }
    )
    with pytest.raises(protok.ArtifactError, match=message):
        protok.load(source, as_loaded_by="transformers")
    assert any(message in note for note in protok.load(source).warnings)
