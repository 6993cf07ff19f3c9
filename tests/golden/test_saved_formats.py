"""Every artifact in every format: it comes back as it was, or the error names why it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import protok

FORMATS = ("huggingface", "sentencepiece", "tiktoken", "vocab.txt")
# The format that has an artifact's own words: what it writes has the same fingerprint.
OWN = {"hf": {"huggingface", "vocab.txt"}, "sentencepiece": {"sentencepiece"}}
OWN["tiktoken"] = {"tiktoken"}
LISTED = ("", "pre_tokenizer", "model", "model")  # a tokenizer.json that cuts text first
OTHER = ("", "model", "model", "model")  # one whose model is no BPE
UNIGRAM = ("model", "", "model", "model")
RANKS = ("", "semantics", "", "model")
GGUF = ("decoder", "semantics", "model", "model")
# Artifact: for each format "", or the component that it has no words for.
TABLE = {
    "albert/spiece.model": UNIGRAM,
    "albert/tokenizer.json": OTHER,
    "bert-base-cased/tokenizer.json": ("", "model", "model", ""),
    "bert-base-cased/vocab.txt": ("", "model", "model", ""),
    "claude-old/tokenizer.json": LISTED,
    "clip/tokenizer.json": LISTED,
    "clip/vocab.json": LISTED,
    "deepseek-v3/tokenizer.json": LISTED,
    "gemma3/tokenizer.json": LISTED,
    "gguf/ggml-vocab-bert-bge.gguf": ("decoder", "semantics", "model", "normalizer"),
    "gguf/ggml-vocab-deepseek-coder.gguf": GGUF,
    "gguf/ggml-vocab-falcon.gguf": GGUF,
    "gguf/ggml-vocab-llama-spm.gguf": GGUF,
    "gguf/ggml-vocab-phi-3.gguf": GGUF,
    "gpt-oss/tokenizer.json": LISTED,
    "gpt2/tokenizer.json": LISTED,
    "gpt2/vocab.json": LISTED,
    "llama3.1/tokenizer.json": LISTED,
    "llama3.1/tokenizer.model": RANKS,
    "minilm-bert-uncased/tokenizer.json": ("", "model", "model", "truncation"),
    "minilm-bert-uncased/vocab.txt": ("", "model", "model", ""),
    "mistral-tekken/tekken_240718.json": RANKS,
    "mistral-v0.1/tokenizer.json": ("", "post_processor", "model", "model"),
    "mistral-v0.1/tokenizer.model.v1": ("", "", "model", "model"),
    "openai-gpt/tokenizer.json": LISTED,
    "qwen3/tokenizer.json": LISTED,
    "roberta-robbert-1k/tokenizer.json": LISTED,
    "roberta-robbert-1k/vocab.json": LISTED,
    "rwkv-world/rwkv_vocab_v20230424.txt": ("", "semantics", "model", "model"),
    "sentencepiece/bpe_toy_uds.model": ("model.vocab[15]", "", "model", "model"),
    "sentencepiece/llama2_bpe_bytefallback.model": ("", "", "model", "model"),
    "sentencepiece/mistral_v3.model": ("model.vocab[751]", "", "model", "model"),
    "sentencepiece/unigram_8k_ja_nfkc.model": UNIGRAM,
    "sentencepiece/unigram_bytefallback_toy.model": UNIGRAM,
    "sentencepiece/word_toy.model": UNIGRAM,
    "t5-base/spiece.model": UNIGRAM,
    "t5-base/tokenizer.json": OTHER,
    "tiktoken/cl100k_base.tiktoken": RANKS,
    "tiktoken/o200k_base.tiktoken": RANKS,
    "tiktoken/p50k_base.tiktoken": RANKS,
    "tiktoken/r50k_base.tiktoken": RANKS,
    "toy/bpe_bytefallback.json": ("", "added_tokens[0]", "model", "model"),
    "toy/bpe_bytefallback_partial.json": ("", "model.byte_fallback", "model", "model"),
    "toy/bpe_contprefix.json": LISTED,
    "toy/bpe_fuse_unk.json": LISTED,
    "toy/bpe_ignore_merges.json": LISTED,
    "toy/bpe_metaspace_first.json": LISTED,
    "toy/ctc.json": OTHER,
    "toy/flags_bytelevel.json": LISTED,
    "toy/template_multi.json": OTHER,
    "toy/trunc_pad.json": OTHER,
    "toy/unigram_bytefallback.json": OTHER,
    "toy/unigram_plain.json": OTHER,
    "toy/wordlevel.json": OTHER,
    "toy/wordpiece_max10.json": ("", "model", "model", "model.max_input_chars_per_word"),
    "whisper/multilingual.tiktoken": RANKS,
    "xlmr-like-1k/sentencepiece.bpe.model": UNIGRAM,
    "xlmr-like-1k/tokenizer.json": OTHER,
}
TOKENIZERS = ("*/tokenizer.json", "toy/*.json", "*/*.model*", "*/*.tiktoken", "*/tekken*.json",
              "*/*vocab*.txt", "*/vocab.json", "gguf/*.gguf")  # fmt: skip


def test_the_table_has_every_artifact(shared: Path) -> None:
    folder = shared / "artifacts"
    found = {path for pattern in TOKENIZERS for path in folder.glob(pattern)}
    assert {path.relative_to(folder).as_posix() for path in found} == set(TABLE)


def texts(shared: Path) -> list[str]:
    lines = (shared / "golden/inputs.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line)["text"] for line in lines if line]


def outcomes(tok: protok.Tokenizer, all_texts: list[str]) -> list[object]:
    """Return ids and decoded text; where text cannot be encoded, the kind of error."""
    found: list[object] = []
    for text in all_texts:
        for template in (True, False):
            try:
                ids = tok.encode(text, add_special_tokens=template, special="parse").tolist()
            except protok.ProtokError as error:
                found.append(type(error))
                continue
            found += [ids, tok.decode(ids), tok.decode(ids, skip_special_tokens=True)]
    return found


@pytest.mark.parametrize("name", TABLE)
def test_saved_and_loaded(shared: Path, tmp_path: Path, name: str) -> None:
    tok = protok.load(shared / "artifacts" / name)
    all_texts = texts(shared)
    expected = outcomes(tok, all_texts)
    for format, missing in zip(FORMATS, TABLE[name], strict=True):
        name_of_folder = format.replace(".", "-")
        folder = tmp_path / name_of_folder
        if missing:
            with pytest.raises(protok.ArtifactError) as caught:
                tok.save(folder, format)
            assert caught.value.location == missing, format
            assert not folder.exists()
            continue
        tok.save(folder, format)
        again = protok.load(folder)
        assert outcomes(again, all_texts) == expected, format
        if format in OWN.get(tok.spec.semantics, ()):
            assert again.fingerprint == tok.fingerprint, format
            assert again.warnings == [], format
        # From then on nothing changes any more, the files included.
        again.save(tmp_path / "again" / name_of_folder, format)
        once = {path.name: path.read_bytes() for path in folder.iterdir()}
        twice = {
            path.name: path.read_bytes() for path in (tmp_path / "again" / name_of_folder).iterdir()
        }
        assert once == twice, format
