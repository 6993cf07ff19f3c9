"""The artifacts that are compared, by the names that the commands know them by."""

from __future__ import annotations

HUGGING_FACE = (
    "gpt2", "roberta-robbert-1k", "claude-old", "clip", "llama3.1", "qwen3", "deepseek-v3",
    "gpt-oss", "gemma3", "mistral-v0.1", "minilm-bert-uncased", "bert-base-cased", "t5-base",
    "albert", "xlmr-like-1k", "openai-gpt",
)  # fmt: skip
TOYS = (
    "bpe_bytefallback", "bpe_bytefallback_partial", "bpe_contprefix", "bpe_fuse_unk",
    "bpe_ignore_merges", "bpe_metaspace_first", "ctc", "flags_bytelevel", "template_multi",
    "trunc_pad", "unigram_bytefallback", "unigram_plain", "wordlevel", "wordpiece_max10",
)  # fmt: skip
RANK_FILES = ("r50k_base", "p50k_base", "cl100k_base", "o200k_base", "llama3", "whisper")
SENTENCEPIECE = {
    "t5-base": "t5-base/spiece.model",
    "albert": "albert/spiece.model",
    "xlmr-like-1k": "xlmr-like-1k/sentencepiece.bpe.model",
    "mistral-v1": "mistral-v0.1/tokenizer.model.v1",
    "mistral-v3": "sentencepiece/mistral_v3.model",
    "llama2": "sentencepiece/llama2_bpe_bytefallback.model",
    "unigram-ja": "sentencepiece/unigram_8k_ja_nfkc.model",
    "unigram-bytefallback": "sentencepiece/unigram_bytefallback_toy.model",
    "bpe-toy": "sentencepiece/bpe_toy_uds.model",
    "word-toy": "sentencepiece/word_toy.model",
}
GGUF = ("llama-spm", "phi-3", "bert-bge", "falcon", "deepseek-coder")
TEKKEN = "mistral-tekken/tekken_240718.json"
RWKV = "rwkv-world/rwkv_vocab_v20230424.txt"
