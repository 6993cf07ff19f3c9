"""What is written, read by the implementation whose format it is."""

from __future__ import annotations

import io
import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers

import protok
from protok.probes import TEXTS

LETTERS = [*" " * 8, *"▁▁▁aeinstrhlo.,\n\t<>s/0x", "é", "字", "🙂", "\u0301", "\u3000", "\x00"]
MODELS = (
    "albert/spiece.model",
    "mistral-v0.1/tokenizer.model.v1",
    "sentencepiece/bpe_toy_uds.model",
    "sentencepiece/llama2_bpe_bytefallback.model",
    "sentencepiece/mistral_v3.model",
    "sentencepiece/unigram_8k_ja_nfkc.model",
    "sentencepiece/unigram_bytefallback_toy.model",
    "sentencepiece/word_toy.model",
    "t5-base/spiece.model",
    "xlmr-like-1k/sentencepiece.bpe.model",
)
# Model, dummy prefix, extra blanks removed, bytes for unknown characters, blank as a suffix.
TRAINED = [
    *itertools.product(["bpe", "char"], *[(False, True)] * 4),
    *itertools.product(["word", "unigram"], [True], [True], [False], [False, True]),
]


def generated(count: int) -> list[str]:
    choose = random.Random(5)
    return [
        "".join(choose.choice(LETTERS) for _ in range(choose.randint(0, 40))) for _ in range(count)
    ]


def inputs(shared: Path) -> list[str]:
    lines = (shared / "golden/inputs.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line)["text"] for line in lines if line]


def pieces(model: Any) -> list[tuple[Any, ...]]:
    """Return all that SentencePiece says of each piece, and the roles."""
    tests = (model.id_to_piece, model.get_score, model.is_unknown, model.is_control,
             model.is_unused, model.is_byte)  # fmt: skip
    ids = range(model.get_piece_size())
    roles = (model.unk_id(), model.bos_id(), model.eos_id(), model.pad_id())
    return [roles, *(tuple(test(id) for test in tests) for id in ids)]


def compare(model: Any, other: Any, texts: list[str]) -> None:
    """Compare ids and decoded text, with SentencePiece or with tokenizers."""
    found = []
    for text in texts:
        ids = model.encode(text)
        decoded = model.decode(ids)
        if isinstance(other, tokenizers.Tokenizer):
            own = other.encode(text, add_special_tokens=False).ids
            again = other.decode(ids, skip_special_tokens=False)
        else:
            own, again = other.encode(text), other.decode(ids)
        if own != ids or again != decoded:
            found.append((text, ids, own, decoded, again))
    assert found == []


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_what_sentencepiece_read(shared: Path, name: str) -> None:
    path = shared / "artifacts" / name
    original = sentencepiece.SentencePieceProcessor(model_file=str(path))
    # The bytes alone: a tokenizer_config.json beside the file may name other roles.
    files = protok.load(path.read_bytes()).to_files("sentencepiece")
    written = sentencepiece.SentencePieceProcessor(model_proto=files["tokenizer.model"])
    assert pieces(written) == pieces(original)
    compare(original, written, [*TEXTS, *inputs(shared), *generated(1000)])


@pytest.mark.parametrize(
    "name", ["sentencepiece/llama2_bpe_bytefallback.model", "mistral-v0.1/tokenizer.model.v1"]
)
def test_a_model_as_tokenizer_json(shared: Path, name: str) -> None:
    path = shared / "artifacts" / name
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    text = protok.load(path).to_files()["tokenizer.json"].decode()
    written = tokenizers.Tokenizer.from_str(text)
    assert written.get_vocab_size() == model.get_piece_size()
    compare(model, written, [*TEXTS, *inputs(shared), *generated(4000)])


@pytest.mark.parametrize("settings", TRAINED, ids=str)
def test_a_trained_model(settings: tuple[str, bool, bool, bool, bool]) -> None:
    """Every setting of the rules for blanks; no files are needed."""
    kind, prefix, extra, fallback, suffix = settings
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([t for t in TEXTS if t.strip() and "\x00" not in t] * 3),
        model_writer=out,
        model_type=kind,
        vocab_size=1250,
        hard_vocab_limit=False,
        character_coverage=0.98,
        normalization_rule_name="identity",
        add_dummy_prefix=prefix,
        remove_extra_whitespaces=extra,
        byte_fallback=fallback,
        treat_whitespace_as_suffix=suffix,
        pad_id=3,
        num_threads=1,
        minloglevel=2,
    )
    model = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    tok = protok.load(out.getvalue())
    texts = [*TEXTS, *generated(400)]
    files = tok.to_files("sentencepiece")
    again = sentencepiece.SentencePieceProcessor(model_proto=files["tokenizer.model"])
    assert pieces(again) == pieces(model)
    compare(model, again, texts)
    refused = "normalizer.treat_whitespace_as_suffix" if suffix and prefix else ""
    refused = "model" if kind in {"word", "unigram"} else refused
    if refused:
        with pytest.raises(protok.ArtifactError) as caught:
            tok.to_files()
        assert caught.value.location == refused
        return
    listed = tok.to_files()["tokenizer.json"]
    compare(model, tokenizers.Tokenizer.from_str(listed.decode()), texts)
    # And from there back to a model.
    files = protok.load(listed).to_files("sentencepiece")
    back = sentencepiece.SentencePieceProcessor(model_proto=files["tokenizer.model"])
    compare(model, back, texts)


def test_why_unigram_scores_are_refused(shared: Path) -> None:
    """The same pieces and scores: sums of 32 and of 64 bits differ where two cuts are as good."""
    path = shared / "artifacts/albert/spiece.model"
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    scored = [(model.id_to_piece(id), model.get_score(id)) for id in range(len(model))]
    other = tokenizers.Tokenizer(tokenizers.models.Unigram(scored, model.unk_id()))
    assert model.encode("00000", out_type=str) == ["▁", "000", "00"]
    assert other.encode("▁00000").tokens == ["▁", "00", "000"]


def test_rwkv_as_tokenizer_json(shared: Path) -> None:
    tok = protok.load(shared / "artifacts/rwkv-world/rwkv_vocab_v20230424.txt")
    written = tokenizers.Tokenizer.from_str(tok.to_files()["tokenizer.json"].decode())
    lines = (shared / "golden/rwkv-world.jsonl").read_text("utf-8").split("\n")
    golden = {record["id"]: record["ids"] for record in map(json.loads, filter(None, lines))}
    lines = (shared / "golden/inputs.jsonl").read_text("utf-8").split("\n")
    compared = 0
    for record in map(json.loads, filter(None, lines)):
        text = record["text"]
        if len(text) > 400:  # tokenizers takes cubic time for what is one word to it
            continue
        ids = written.encode(text).ids
        assert ids == golden[record["id"]] == tok.encode(text).tolist(), text
        assert written.decode(ids, skip_special_tokens=False) == tok.decode(ids)
        compared += 1
    assert compared > 100


def test_tekken_as_tokenizer_json(shared: Path) -> None:
    tok = protok.load(shared / "artifacts/mistral-tekken/tekken_240718.json")
    written = tokenizers.Tokenizer.from_str(tok.to_files()["tokenizer.json"].decode())
    for text in [*TEXTS, *inputs(shared)]:
        ids = tok.encode(text, special="parse").tolist()
        assert written.encode(text, add_special_tokens=False).ids == ids, text


@pytest.mark.parametrize("name", ["bert-base-cased", "minilm-bert-uncased"])
def test_vocab_txt_as_its_own_library_reads_it(shared: Path, tmp_path: Path, name: str) -> None:
    original = shared / "artifacts" / name / "vocab.txt"
    tok = protok.load(original)
    tok.save(tmp_path, "vocab.txt")
    assert (tmp_path / "vocab.txt").read_bytes() == original.read_bytes()
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    assert config["tokenizer_class"] == "BertTokenizer"
    reader = tokenizers.BertWordPieceTokenizer(
        str(tmp_path / "vocab.txt"),
        lowercase=config["do_lower_case"],
        strip_accents=config["strip_accents"],
        handle_chinese_chars=config["tokenize_chinese_chars"],
    )
    for text in [*TEXTS, *inputs(shared)]:
        assert reader.encode(text).ids == tok.encode(text, special="parse").tolist(), text
