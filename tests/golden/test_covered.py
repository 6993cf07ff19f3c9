"""Every golden file is held by a test of this folder, or is named here with who holds it."""

from __future__ import annotations

from pathlib import Path

from golden.records import GGUF, HUGGING_FACE, SENTENCEPIECE, TIKTOKEN

# By stem: the test of this folder that reads it by name.
READ_BY_NAME = {
    "inputs": "records.py",
    "mistral-tekken": "test_formats.py",
    "rwkv-world": "test_formats.py",
    "components": "test_components.py",
    "decoders": "test_components.py",
    "hf_extra": "test_extra.py",
}
# These come with the parts of protok that they are about: chat, and loading as transformers does.
OF_OTHER_PARTS = {
    *("chat", "chat_templates", "conversations", "mistral_chat"),
    *("transformers4_diff", "transformers5_diff"),
}
ABOUT_THE_FILES = {"manifest"}


def test_every_golden_has_its_test(shared: Path) -> None:
    tables = {
        *HUGGING_FACE,
        *(f"tiktoken.{name}" for name in TIKTOKEN),
        *(f"spm.{name}" for name in SENTENCEPIECE),
        *(f"gguf.{name}" for name in GGUF),
    }
    held = tables | set(READ_BY_NAME) | OF_OTHER_PARTS | ABOUT_THE_FILES
    files = [path for path in (shared / "golden").iterdir() if path.suffix in {".json", ".jsonl"}]
    found = {path.name.removesuffix(path.suffix) for path in files}
    assert found == held
    for stem, test in READ_BY_NAME.items():
        assert f"{stem}.jsonl" in (Path(__file__).parent / test).read_text("utf-8")
