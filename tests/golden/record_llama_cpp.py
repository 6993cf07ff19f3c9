"""Record what llama.cpp makes of a few texts, for each of its pre-tokenizers and for Unigram.

    PROTOK_LIBLLAMA=/path/to/libllama.so python tests/golden/record_llama_cpp.py

Writes llama_cpp.jsonl beside this file: the ids of each of TEXTS with control tokens parsed and the
ends marked, the decoded text where it is another, and the GGUF files that give them, of those that
`gguf_files` makes. They are made of artifacts in ../shared, so they are not kept here.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from differential.llama_cpp import LlamaCpp
from differential.texts import SHARED
from gguf_files import every

# What tells the patterns apart: each kind of blank, number, mark, contraction and script.
TEXTS = (
    "Hello  world,\n\n it's WE'RE o'clock 'Tis don’t",
    "1 12 123 1234 12345 123456 1234567 x12345y 1,234,567.89 ١٢٣٤ ²³",
    "\r\n\r\n  a\r\n\tb \n \n  \u00a0c\u3000d\u2003\u0903e \u0085f   ",
    "CamelCaseWord HTTPServer ÉCOLE école Straße ﬁn İstanbul ΑΣ",
    "e\u0301 क्षत्रिय ไทยภาษา ພາສາ ខ្មែរ မြန်မာ 가나다 ᄀᄁ ㄅㄆ ﾊﾝｶｸ",
    "東京都は日本の首都です。中文，分词！㐀𠀀豈",
    'if (x<=3) { y+="a\\n"; } // ~~~ $5.00 `q` ^_^ <sentinel:12> IMGIMGABCZ ...!?',
    "🐈‍⬛ 👍🏽 🇩🇪 ☃︎ →⇒ ▁x ▁▁ a▁b",
    "    indented\n        more\n\n\n   " + " " * 70 + "end",
    "a\u200bb\ufeffc\ufffdd\ue000e\U0010fffff",
    ">\x1c' a\x1db the\x05re",  # bytes that the vocabulary lacks
    " ",
    "",
)


def main() -> None:
    """Record everything anew."""
    found: dict[str, list[str]] = {}
    for name, make in every(SHARED / "artifacts").items():
        if not name.startswith(("pre-", "t5-")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "vocab.gguf"
            path.write_bytes(make())
            reference = LlamaCpp(path)
        for text in TEXTS:
            ids = reference.encode(text, ends=True)
            record: dict[str, object] = {"text": text, "ids": ids}
            decoded = reference.decode(ids)
            if decoded != text:
                record["decode"] = decoded
            found.setdefault(json.dumps(record), []).append(name)
    out = Path(__file__).with_name("llama_cpp.jsonl")
    lines = [json.dumps(json.loads(line) | {"files": files}) for line, files in found.items()]
    out.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
