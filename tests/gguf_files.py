"""GGUF files for tests: with another pre-tokenizer, or made of a SentencePiece model.

Source: the description of the format in ggml's docs/gguf.md, version 3, little-endian.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from differential.artifacts import GGUF, SENTENCEPIECE

STRING, ARRAY = 8, 9
SIMPLE = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
# Of the names that llama.cpp v0.5.0 has, those whose tokens do not spell bytes are made below.
PRE_TOKENIZERS = (
    "default", "llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0",
    "lfm2", "jina-v5-nano", "dbrx", "smaug-bpe", "chatglm-bpe", "glm4", "minicpm5",
    "jais-2", "qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "hunyuan", "grok-2", "solar-open",
    "qwen35", "laguna", "ufakzeka", "stablelm2", "megrez", "gpt-2", "phi-2", "jina-es", "jina-de",
    "gigachat", "jina-v2-es", "jina-v2-de", "a.x-4.0", "mellum", "modern-bert", "mpt", "olmo",
    "jais", "exaone4", "jina-v1-en", "jina-v2-code", "roberta-bpe", "trillion", "granite-docling",
    "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2", "command-r", "smollm",
    "falcon", "deepseek-llm", "deepseek-coder", "deepseek-v3", "hunyuan-dense", "joyai-llm",
    "hy_v4", "spark2_5", "youtu", "poro-chat", "bloom", "gpt3-finnish", "viking", "tekken",
    "chameleon", "gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2", "granite-embed-multi-97m",
    "tiny_aya", "cohere2moe", "kimi-k2", "superbpe", "bailingmoe", "bailingmoe2", "llada-moe",
    "seed-coder", "afmoe", "exaone-moe",
)  # fmt: skip


def _text(text: bytes | str) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def value(kind: int, content: Any) -> bytes:
    """Spell a value: a number, a string, or a pair of the items' type and the items."""
    if kind == STRING:
        return struct.pack("<I", kind) + _text(content)
    if kind == ARRAY:
        inner, items = content
        head = struct.pack("<IIQ", kind, inner, len(items))
        if inner == STRING:
            return head + b"".join(map(_text, items))
        return head + struct.pack(f"<{len(items)}{SIMPLE[inner]}", *items)
    return struct.pack(f"<I{SIMPLE[kind]}", kind, content)


def build(pairs: dict[str, bytes]) -> bytes:
    """Put a file together from keys and their values as spelled."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs))
    return head + b"".join(_text(key) + spelled for key, spelled in pairs.items())


def read(data: bytes) -> dict[str, bytes]:
    """Return the keys of a file and their values as spelled."""
    _, _, count = struct.unpack_from("<IQQ", data, 4)
    at = 24

    def text() -> bytes:
        nonlocal at
        (length,) = struct.unpack_from("<Q", data, at)
        at += 8 + length
        return data[at - length : at]

    pairs = {}
    for _ in range(count):
        key = text().decode()
        start = at
        (kind,) = struct.unpack_from("<I", data, at)
        at += 4
        if kind == STRING:
            text()
        elif kind == ARRAY:
            inner, length = struct.unpack_from("<IQ", data, at)
            at += 12
            if inner == STRING:
                for _ in range(length):
                    text()
            else:
                at += length * struct.calcsize(SIMPLE[inner])
        else:
            at += struct.calcsize(SIMPLE[kind])
        pairs[key] = data[start:at]
    return pairs


def with_pre_tokenizer(path: Path, name: str) -> bytes:
    """Return a file whose pre-tokenizer has another name."""
    pairs = read(path.read_bytes())
    pairs["tokenizer.ggml.pre"] = value(STRING, name)
    return build(pairs)


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message of protocol buffers: their numbers and contents."""
    at = 0

    def number() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        elif tag & 7 == 5:
            yield tag >> 3, struct.unpack_from("<f", message, at)[0]
            at += 4
        else:
            length = number()
            at += length
            yield tag >> 3, message[at - length : at]


def unigram(model: Path, **flags: bool) -> bytes:
    """Return a file of kind t5 with the pieces and the character map of a SentencePiece model."""
    tokens, scores, kinds, charsmap = [], [], [], b""
    for field, content in _fields(model.read_bytes()):
        if field == 1:
            piece = {1: b"", 2: 0.0, 3: 1} | dict(_fields(content))
            tokens.append(piece[1])
            scores.append(piece[2])
            kinds.append(piece[3])  # numbered alike
        elif field == 3:
            charsmap = dict(_fields(content)).get(2, b"")
    ends = [place for place, token in enumerate(tokens) if token in {b"</s>", b"[SEP]", b"<eos>"}]
    pairs = {
        "general.architecture": value(STRING, "t5"),
        "tokenizer.ggml.model": value(STRING, "t5"),
        "tokenizer.ggml.pre": value(STRING, "default"),
        "tokenizer.ggml.tokens": value(ARRAY, (STRING, tokens)),
        "tokenizer.ggml.scores": value(ARRAY, (6, scores)),
        "tokenizer.ggml.token_type": value(ARRAY, (5, kinds)),
        "tokenizer.ggml.eos_token_id": value(4, ends[0]),
        "tokenizer.ggml.unknown_token_id": value(4, kinds.index(2)),
    }
    if charsmap:
        pairs["tokenizer.ggml.precompiled_charsmap"] = value(ARRAY, (0, charsmap))
    for flag, state in flags.items():
        pairs[f"tokenizer.ggml.{flag}"] = value(7, state)
    return build(pairs)


def marked(
    tokenizer: Path, model: str, pre: str, more: dict[str, bytes], *, line_ends: bool = True
) -> bytes:
    """Return a file of a BPE with byte tokens, from a tokenizer.json.

    Without ``line_ends`` nothing merges them, and no token of them is looked for in the text.
    """
    document = json.loads(tokenizer.read_bytes())
    vocab = document["model"]["vocab"]
    vocab |= {token["content"]: token["id"] for token in document["added_tokens"]}
    tokens = sorted(vocab, key=vocab.__getitem__)
    kinds = [6 if re.fullmatch(r"<0x[0-9A-F]{2}>", token) else 1 for token in tokens]
    for token in document["added_tokens"]:
        if not token["content"].strip("\n") and not line_ends:
            continue
        kinds[token["id"]] = 3 if token["special"] else 4
    merges = [
        " ".join(merge) if isinstance(merge, list) else merge
        for merge in document["model"]["merges"]
    ]
    if not line_ends:
        merges = [merge for merge in merges if merge.strip("\n ")]
    pairs = {
        "general.architecture": value(STRING, "llama"),
        "tokenizer.ggml.model": value(STRING, model),
        "tokenizer.ggml.pre": value(STRING, pre),
        "tokenizer.ggml.tokens": value(ARRAY, (STRING, tokens)),
        "tokenizer.ggml.token_type": value(ARRAY, (5, kinds)),
        "tokenizer.ggml.merges": value(ARRAY, (STRING, merges)),
    }
    return build(pairs | {f"tokenizer.ggml.{key}": spelled for key, spelled in more.items()})


def _marked_files(artifacts: Path) -> dict[str, Callable[[], bytes]]:
    """Return how the files are made whose tokens spell text."""
    gemma = artifacts / "gemma3/tokenizer.json"
    mistral = artifacts / "mistral-v0.1/tokenizer.json"
    begins, false, true = value(4, 2), value(7, 0), value(7, 1)
    wide = {"bos_token_id": begins, "eos_token_id": value(4, 1)}
    small = {"bos_token_id": value(4, 1), "eos_token_id": begins}
    forced, ended = wide | {"add_bos_token": false}, wide | {"add_eos_token": true}
    lower = small | {"normalizer.lowercase": true}
    return {
        "pre-gemma4": partial(marked, gemma, "gemma4", "", forced),
        "pre-gemma4-line-ends": partial(marked, gemma, "gpt2", "gemma4", ended, line_ends=False),
        "pre-granite-embed-multi-311m": partial(
            marked, mistral, "gpt2", "granite-embed-multi-311m", small
        ),
        "pre-sarvam-moe": partial(marked, mistral, "gpt2", "sarvam-moe", small),
        "pre-whitespace": partial(marked, mistral, "whitespace", "whitespace", small),
        "pre-whitespace-lower": partial(marked, mistral, "whitespace", "whitespace", lower),
    }


def every(artifacts: Path) -> dict[str, Callable[[], bytes]]:
    """Return how each file is made: as it is, of kind t5, with another pre-tokenizer."""
    folder = artifacts / "gguf"
    made: dict[str, Callable[[], bytes]] = {
        name: (folder / f"ggml-vocab-{name}.gguf").read_bytes for name in GGUF
    }
    for name in ("t5-base", "unigram-ja", "unigram-bytefallback", "xlmr-like-1k"):
        path = artifacts / SENTENCEPIECE[name]
        made[f"t5-{name}"] = partial(unigram, path)
        made[f"t5-{name}-merged"] = partial(
            unigram, path, add_space_prefix=True, remove_extra_whitespaces=True
        )
    path = artifacts / SENTENCEPIECE["t5-base"]
    made["t5-prefix"] = partial(unigram, path, add_space_prefix=True)
    falcon = folder / "ggml-vocab-falcon.gguf"
    for name in PRE_TOKENIZERS:
        made[f"pre-{name}"] = partial(with_pre_tokenizer, falcon, name)
    return made | _marked_files(artifacts)
