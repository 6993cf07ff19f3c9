"""Write what ``transformers`` makes of small tokenizers under many configurations.

    python tools/transformers_goldens.py      write tests/golden/transformers_options.jsonl

The version must be the one that ``as_loaded_by="transformers"`` follows. The tokenizers are made
here, so that the file stands alone; each line is one folder: its files, and what came of it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

VERSION = "5.24.0"
GOLDENS = Path(__file__).resolve().parents[1] / "tests/golden/transformers_options.jsonl"
TEXTS = (
    "a b ab Ab  á 中ab , b . don't",
    " ab\n<s>ab</s>[X] a <mask> [MASK]b",
    "[CLS] a ``b'' [Y] ﬁ",
)
Json = dict[str, Any]


def added(content: str, id: int, **flags: bool) -> Json:
    """Write an added token, a special one unless told otherwise."""
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": id, "content": content} | {
        name: flags.get(name, name == "special") for name in names
    }


def tokenizer(model: Json, special: tuple[str, ...], **parts: Any) -> Json:
    """Write a tokenizer.json."""
    vocab = model["vocab"]
    names = list(vocab) if isinstance(vocab, dict) else [piece for piece, _ in vocab]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(token, names.index(token)) for token in special],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        **parts,
        "model": model,
    }


def numbered(tokens: list[str]) -> dict[str, int]:
    """Give each token the number of its place."""
    return {token: id for id, token in enumerate(tokens)}


def word_piece() -> Json:
    """Write a cased BERT."""
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    pieces = ["a", "b", "##b", "##a", "ab", "á", "中", ",", ".", "don", "'", "t", "`", "<s>"]
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": numbered([*special, *pieces]),
    }
    bert = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    return tokenizer(
        model,
        special,
        normalizer={"type": "BertNormalizer", **bert, "lowercase": False},
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor={"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": False},
    )


def byte_bpe(*more: str) -> Json:
    """Write a byte-level BPE."""
    from tokenizers.pre_tokenizers import ByteLevel  # noqa: PLC0415  (not a dependency)

    special = ("<|endoftext|>", "<s>", "</s>", *more)
    alphabet = sorted(ByteLevel.alphabet())
    merges = [["a", "b"], ["Ġ", "a"], ["Ġ", "b"], ["Ġa", "b"]]
    tokens = [*special, *alphabet, *("".join(pair) for pair in merges), "a</w>", "b</w>"]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return tokenizer(
        {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": numbered(tokens),
            "merges": merges,
        },
        special,
        pre_tokenizer={**level, "use_regex": True},
        decoder={**level, "use_regex": True},
    )


def marks_bpe() -> Json:
    """Write a converted SentencePiece BPE with byte fallback."""
    special = ("<unk>", "<s>", "</s>")
    merges = [["a", "b"], ["▁", "a"], ["▁", "b"], ["▁a", "b"]]
    characters = ["▁", "a", "b", "A", ",", "."]
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = [*special, *fallback, *characters, *("".join(pair) for pair in merges)]
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    template = [
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ]
    return tokenizer(
        {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": numbered(tokens),
            "merges": merges,
        },
        special,
        normalizer={
            "type": "Sequence",
            "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace],
        },
        post_processor={
            "type": "TemplateProcessing",
            "single": template,
            "pair": [*template, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        decoder={
            "type": "Sequence",
            "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}, strip],
        },
    )


def unigram(*more: str) -> Json:
    """Write a Unigram whose third score the tokenizers library reads inexactly."""
    special = ("<s>", "<pad>", "</s>", "<unk>", "[CLS]", "[SEP]", "<mask>", *more)
    pieces = {"▁": -2.012292861938477, "a": -3.1, "b": -3.3, "▁a": -2.3, "ab": -4.1, ",": -5.0}
    vocab = [*([token, 0.0] for token in special), *([piece, s] for piece, s in pieces.items())]
    marks = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return tokenizer(
        {"type": "Unigram", "unk_id": 3, "byte_fallback": False, "vocab": vocab},
        special,
        pre_tokenizer=marks,
        decoder=marks,
    )


Folders = Iterator[tuple[str, Json]]


def folder(name: str, base: Json, config: Json, /, **more: Json) -> tuple[str, Json]:
    """Name a folder, with the contents of its files."""
    files = {"tokenizer.json": base, "tokenizer_config.json": config}
    return name, files | {f"{key}.json": value for key, value in more.items()}


def word_piece_folders() -> Folders:
    """Configure a WordPiece tokenizer."""
    token = {"__type": "AddedToken", "content": "[Y]", "lstrip": True}
    base = word_piece()
    bert = {"tokenizer_class": "BertTokenizer", "do_lower_case": False}
    for name, config in {
        "plain": {},
        "lower": {"do_lower_case": True},
        "accents": {"strip_accents": True},
        "lower, accents": {"do_lower_case": True, "strip_accents": False},
        "ideographs": {"tokenize_chinese_chars": False},
        "clean up": {"clean_up_tokenization_spaces": True},
        "another cls": {"cls_token": "[X]"},
        "no cls": {"cls_token": None},
        "another unk": {"unk_token": "a"},
        "additional": {"additional_special_tokens": ["[X]", token]},
        "extra": {"extra_special_tokens": ["[X]", token]},
        "named extra": {"extra_special_tokens": {"image_token": "[X]"}},
        "own role": {"image_token": "[X]", "sound_token": token},
        "decoder table": {
            "added_tokens_decoder": {
                "2": {"content": "[CLS]", "lstrip": True, "normalized": False},
                "40": {"content": "[X]", "special": True},
                "41": {"content": "ab", "rstrip": True},
            }
        },
        "bos and eos": {"add_bos_token": True, "add_eos_token": True, "bos_token": "<s>"},
        "object without type": {"cls_token": {"content": "[CLS]"}},
        "list of objects": {"additional_special_tokens": [{"content": "[X]"}]},
        "null extra": {"extra_special_tokens": None, "additional_special_tokens": ["[X]"]},
    }.items():
        yield folder(f"BertTokenizer, {name}", base, bert | config)
    old = {"special_tokens_map": {"cls_token": "[SEP]", "additional_special_tokens": ["[X]"]}}
    yield folder("special_tokens_map.json", base, bert, **old)
    extra = {"special_tokens_map": {"extra_special_tokens": ["[X]", {"content": "[Y]"}]}}
    yield folder("special_tokens_map.json, extra", base, bert, **extra)
    numbers = {"added_tokens": {"[X]": 40, "[Y]": 41}}
    yield folder("added_tokens.json", base, bert | {"mask_token": "[Y]"}, **numbers)
    yield folder("config.json, bert", base, {}, config={"model_type": "bert"})
    wrong = {"tokenizer_class": "DPRReaderTokenizerFast"}
    yield folder("config.json, dpr", base, wrong, config={"model_type": "dpr"})
    for name in (
        "BertTokenizerFast",
        "ConvBertTokenizer",
        "DPRReaderTokenizer",
        "DistilBertTokenizer",
        "ElectraTokenizerFast",
        "PreTrainedTokenizerFast",
        "Unheard",
    ):
        config = {"tokenizer_class": name, "clean_up_tokenization_spaces": True}
        yield folder(f"{name}, WordPiece", base, config)
    base["decoder"] = None
    config = {"clean_up_tokenization_spaces": True}
    yield folder("clean up without a decoder", base, config)


def byte_bpe_folders() -> Folders:
    """Configure a byte-level BPE."""
    base = byte_bpe()
    gpt2 = {"tokenizer_class": "GPT2Tokenizer"}
    for name, config in {
        "plain": {},
        "prefix": {"add_prefix_space": True},
        "bos": {"add_bos_token": True, "bos_token": "<s>"},
        "clean up": {"clean_up_tokenization_spaces": True},
        "forced clean up": {
            "clean_up_tokenization_spaces": True,
            "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": True,
        },
        "pad": {"pad_token": "[X]"},
    }.items():
        yield folder(f"GPT2Tokenizer, {name}", base, gpt2 | config)
    for name in (
        "BlenderbotTokenizer",
        "CohereTokenizer",
        "DebertaTokenizer",
        "GPTNeoXTokenizer",
        "LlamaTokenizer",
        "Qwen2Tokenizer",
        "Qwen3_5Tokenizer",
        "RobertaTokenizer",
    ):
        yield folder(f"{name}, byte-level BPE", base, {"tokenizer_class": name})
    unknown = {"unk_token": "<|endoftext|>"}
    for name in ("CLIPTokenizer", "HerbertTokenizer", "OpenAIGPTTokenizer", "GemmaTokenizer"):
        yield folder(f"{name}, byte-level BPE", base, {"tokenizer_class": name, **unknown})
    for model_type in ("qwen2", "qwen3", "gpt2", "llama", "mistral"):
        config = {"tokenizer_class": "LlamaTokenizerFast"}
        more = {"config": {"model_type": model_type}}
        yield folder(f"config.json, {model_type}, byte-level BPE", base, config, **more)
    code = {"auto_map": {"AutoTokenizer": ["code.Tokenizer", None]}}
    yield folder("code with a known class", base, gpt2 | code)


def marks_bpe_folders() -> Folders:
    """Configure a BPE with byte fallback."""
    base = marks_bpe()
    llama = {"tokenizer_class": "LlamaTokenizer"}
    for name, config in {
        "plain": {},
        "legacy": {"legacy": True},
        "not legacy": {"legacy": False},
        "no prefix": {"add_prefix_space": False},
        "bos and eos": {"add_bos_token": False, "add_eos_token": True},
        "no unk": {"unk_token": None},
    }.items():
        yield folder(f"LlamaTokenizer, {name}", base, llama | config)
    for name in ("GemmaTokenizer", "Siglip2Tokenizer", "PreTrainedTokenizerFast"):
        yield folder(f"{name}, BPE with bytes", base, {"tokenizer_class": name})
    for model_type in ("mistral", "phi3", "idefics2"):
        more = {"config": {"model_type": model_type}}
        yield folder(f"config.json, {model_type}, BPE with bytes", base, llama, **more)


def unigram_folders() -> Folders:
    """Configure a Unigram model."""
    base = unigram()
    for name in (
        "AlbertTokenizer",
        "BarthezTokenizer",
        "BigBirdTokenizer",
        "CamembertTokenizer",
        "DebertaV2Tokenizer",
        "FNetTokenizer",
        "RemBertTokenizer",
        "T5Tokenizer",
        "XLMRobertaTokenizer",
        "XLNetTokenizer",
    ):
        yield folder(f"{name}, Unigram", base, {"tokenizer_class": name})
        options = {"add_prefix_space": False, "do_lower_case": False, "keep_accents": True}
        yield folder(f"{name}, Unigram, options", base, {"tokenizer_class": name, **options})
    options = {"extra_ids": 2, "additional_special_tokens": ["[X]"]}
    yield folder("T5Tokenizer, sentinels", base, {"tokenizer_class": "T5Tokenizer"} | options)


def language_folders() -> Folders:
    """Configure the classes whose template names a language."""
    codes = ("en_XX", "ro_RO", "tl_XX")
    for name in ("MBartTokenizer", "MBart50Tokenizer"):
        config = {"tokenizer_class": name}
        if name == "MBartTokenizer":  # the other would number the vocabulary anew
            yield folder(f"{name}, no language has an id", unigram(), config)
        yield folder(f"{name}, languages", unigram(*codes), config)
        for language in ("ro_RO", "xx_XX"):
            named = config | {"src_lang": language, "tgt_lang": "en_XX"}
            yield folder(f"{name}, {language}", unigram(*codes), named)
        extra = config | {"extra_special_tokens": ["ro_RO", "[X]"], "bos_token": "[CLS]"}
        yield folder(f"{name}, extra", unigram(*codes), extra)
    base = marks_bpe()
    nllb = {"tokenizer_class": "NllbTokenizer"}
    for name, config in {
        "plain": {},
        "language": {"src_lang": "fra_Latn"},
        "unknown language": {"src_lang": "xx"},
        "legacy": {"legacy_behaviour": True, "tgt_lang": "fra_Latn"},
        "additional": {"additional_special_tokens": ["fra_Latn", "[X]"]},
        "null extra": {"extra_special_tokens": None},
        "no extra": {"extra_special_tokens": []},
        "mask": {"mask_token": "[MASK]"},
    }.items():
        yield folder(f"NllbTokenizer, {name}", base, nllb | config)
    seamless = {"tokenizer_class": "SeamlessM4TTokenizer"}
    for name, config in {
        "plain": {},
        "language": {"src_lang": "__deu__", "extra_special_tokens": ["__deu__"]},
        "bare language": {"src_lang": "deu", "additional_special_tokens": ["__deu__"]},
    }.items():
        yield folder(f"SeamlessM4TTokenizer, {name}", base, seamless | config)


def speech_folders() -> Folders:
    """Configure Whisper."""
    marks = ("<|startoftranscript|>", "<|en|>", "<|zh|>", "<|de|>", "<|translate|>")
    marks = (*marks, "<|transcribe|>", "<|startofprev|>", "<|notimestamps|>")
    base = byte_bpe(*marks)
    more = {"texts": ["a b", "a<|0.02|> b<|zh|>", "<|startoftranscript|>ab<|1.5|>", "<|2|>"]}
    for name, config in {
        "plain": {},
        "language": {"language": "German", "task": "transcribe"},
        "code": {"language": "zh", "task": "translate", "predict_timestamps": True},
        "unknown language": {"language": "klingon"},
        "unknown task": {"task": "sing"},
        "no language token": {"language": "yue"},
        "prefix": {"add_prefix_space": True, "pad_token": "<s>"},
        "clean up": {"clean_up_tokenization_spaces": True},
        "token": {"eos_token": {"__type": "AddedToken", "content": "</s>", "lstrip": True}},
    }.items():
        yield folder(
            f"WhisperTokenizer, {name}",
            base,
            {"tokenizer_class": "WhisperTokenizer"} | config,
            **more,
        )
    config = {"tokenizer_class": "WhisperTokenizer"}
    yield folder("WhisperTokenizer, no marks", byte_bpe(), config)


def other_folders() -> Folders:
    """Configure the classes that are neither."""
    for name, config in {
        "plain": {},
        "mask": {"mask_token_sent": None, "offset": 4},
        "additional": {"additional_special_tokens": ["[X]"]},
        "unk": {"unk_token": "<pad>"},
        "unk with a score": {"unk_token": "a"},
    }.items():
        yield folder(
            f"PegasusTokenizer, {name}", unigram(), {"tokenizer_class": "PegasusTokenizer"} | config
        )
    for name, config in {
        "plain": {},
        "no prefix": {"add_prefix_space": False},
        "additional": {"additional_special_tokens": ["[X]"]},
        "no bos": {"bos_token": None},
    }.items():
        yield folder(
            f"XGLMTokenizer, {name}", unigram(), {"tokenizer_class": "XGLMTokenizer"} | config
        )
    for name, config in {
        "plain": {},
        "pad": {"pad_token": "<s>", "additional_special_tokens": ["[X]"]},
        "clean up": {"clean_up_tokenization_spaces": True},
    }.items():
        yield folder(
            f"ReformerTokenizer, {name}",
            marks_bpe(),
            {"tokenizer_class": "ReformerTokenizer"} | config,
        )
    for name in ("CodeGenTokenizer", "NougatTokenizer"):
        for option, config in {
            "plain": {},
            "prefix": {"add_prefix_space": True, "bos_token": "<s>"},
        }.items():
            yield folder(f"{name}, {option}", byte_bpe(), {"tokenizer_class": name} | config)
    dotted = word_piece()
    dotted["model"]["vocab"]["[QUESTION]"] = len(dotted["model"]["vocab"])
    for name, config in {
        "plain": {},
        "cased": {"do_lower_case": False, "strip_accents": False},
        "left": {"padding_side": "left"},
        "no cls": {"cls_token": None},
        "question": {"question_token": "[X]"},
    }.items():
        splinter = {"tokenizer_class": "SplinterTokenizer"} | config
        yield folder(f"SplinterTokenizer, {name}", word_piece(), splinter)
        yield folder(f"SplinterTokenizer, {name}, in the vocabulary", dotted, splinter)
    for model_type, base in {
        "mbart": unigram("en_XX"),
        "nllb": marks_bpe(),
        "herbert": marks_bpe(),
        "pegasus": unigram(),
        "whisper": byte_bpe(),
        "xglm": unigram(),
        "codegen": byte_bpe(),
        "splinter": word_piece(),
    }.items():
        yield folder(f"config.json, {model_type}", base, {}, config={"model_type": model_type})


def folders() -> Folders:
    """List all folders."""
    yield from word_piece_folders()
    yield from byte_bpe_folders()
    yield from marks_bpe_folders()
    yield from unigram_folders()
    yield from language_folders()
    yield from speech_folders()
    yield from other_folders()


def outcome(folder: str, texts: Sequence[str]) -> Json:
    """Load a folder, and encode and decode with it."""
    from transformers import AutoTokenizer  # noqa: PLC0415  (not a dependency)

    try:
        tok = AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # noqa: BLE001  (whatever it says, it is the golden)
        return {"load_error": type(error).__name__}
    results = []
    for text in texts:
        ids = tok(text)["input_ids"]
        results.append(
            {
                "ids": ids,
                "plain": tok(text, add_special_tokens=False)["input_ids"],
                "pair": tok(text, "b")["input_ids"],
                "decode": tok.decode(ids),
                "skip": tok.decode(ids, skip_special_tokens=True),
            }
        )
    return {"class": type(tok).__name__, "results": results}


def classes() -> Json:
    """Name the classes: by model type, those that count against a folder's own, and all."""
    import transformers  # noqa: PLC0415  (not a dependency)
    from transformers.models.auto import tokenization_auto as auto  # noqa: PLC0415
    from transformers.models.auto.configuration_auto import (  # noqa: PLC0415
        CONFIG_MAPPING_NAMES,
    )

    registered = auto.TOKENIZER_MAPPING_NAMES.items()
    base = transformers.PreTrainedTokenizerBase
    named = [name for name in dir(transformers) if "Tokenizer" in name]
    found = [(name, getattr(transformers, name, None)) for name in named]
    everything = [name for name, one in found if isinstance(one, type) and issubclass(one, base)]
    return {
        "registered": {
            kind: name.removesuffix("Fast") for kind, name in sorted(registered) if name
        },
        "misnamed": sorted(auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS),
        "unconfigured": sorted(
            kind for kind, name in registered if name and kind not in CONFIG_MAPPING_NAMES
        ),
        "classes": sorted({name.removesuffix("Fast") for name in everything}),
    }


def main() -> int:
    """Write the goldens."""
    import transformers  # noqa: PLC0415  (not a dependency)

    if transformers.__version__ != VERSION:
        raise SystemExit(f"transformers {VERSION} is wanted, not {transformers.__version__}")
    transformers.logging.set_verbosity_error()
    head = {"version": VERSION, "texts": TEXTS, **classes()}
    lines = [json.dumps(head, ensure_ascii=False)]
    bases: list[Json] = []
    for name, files in folders():
        record: Json = {"name": name}
        texts: Sequence[str] = TEXTS
        if "texts.json" in files:
            texts = record["texts"] = files.pop("texts.json")
        with tempfile.TemporaryDirectory() as folder:
            for file, content in files.items():
                (Path(folder) / file).write_text(json.dumps(content), "utf-8")
            result = outcome(folder, texts)
        # A tokenizer.json is written once, where it first comes.
        base = json.loads(json.dumps(files.pop("tokenizer.json")))
        if base in bases:
            record["base"] = bases.index(base)
        else:
            record["tokenizer"] = base
            bases.append(base)
        lines.append(json.dumps({**record, "files": files, **result}, ensure_ascii=False))
    GOLDENS.write_text("\n".join(lines) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
