"""Train the demo tokenizer from the public-domain and CC0 files of the shared corpus.

    python tools/train_demo.py            write python/protok/data/demo
    python tools/train_demo.py --check    train again and compare: exit code 1 on a difference

The result depends on nothing but the files and the recipe below.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import protok
from protok.training import train

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
DEMO = ROOT / "python" / "protok" / "data" / "demo"
FREE = ("public domain", "CC0")
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# Contractions; words with their marks and at most one character before them; digits by three;
# runs of everything else with the line ends after them; line ends; other white space.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    r"|[^\r\n\p{L}\p{M}\p{N}]?[\p{L}\p{M}]+"
    r"|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)
RECIPE = protok.Recipe(
    vocab_size=16_384,
    pre_tokenizer={
        "type": "Sequence",
        "pretokenizers": [
            {
                "type": "Split",
                "pattern": {"Regex": PATTERN},
                "behavior": "Isolated",
                "invert": False,
            },
            {
                "type": "ByteLevel",
                "add_prefix_space": False,
                "trim_offsets": True,
                "use_regex": False,
            },
        ],
    },
    special_tokens=SPECIAL,
    max_token_length=32,
)


def sources() -> list[dict[str, Any]]:
    """List the corpus files whose licence allows everything, in the order of their names."""
    entries: list[dict[str, Any]] = []
    for folder in ("prose", "slices"):
        index = json.loads((CORPUS / folder / "index.json").read_text("utf-8"))
        for group in index.values():
            if isinstance(group, list):
                entries += [entry for entry in group if isinstance(entry, dict)]
    free = [entry for entry in entries if str(entry.get("licence", "")).startswith(FREE)]
    return sorted(free, key=lambda entry: str(entry["file"]))


def build() -> dict[str, bytes]:
    """Train, and return the files of the demo tokenizer."""
    files, texts = [], []
    for entry in sources():
        data = (CORPUS / entry["file"]).read_bytes()
        texts.append(data.decode())
        files.append(
            {
                "file": entry["file"],
                "sha256": hashlib.sha256(data).hexdigest(),
                "bytes": len(data),
                "source": entry["source"],
                "licence": entry["licence"],
            }
        )
    tok = train(RECIPE, texts)
    provenance = {
        "protok": protok.__version__,
        "fingerprint": tok.fingerprint,
        "recipe": {
            "vocab_size": RECIPE.vocab_size,
            "symbols": RECIPE.symbols,
            "pattern": PATTERN,
            "special_tokens": list(SPECIAL),
            "max_token_length": RECIPE.max_token_length,
            "tie": RECIPE.tie,
        },
        "corpus": files,
    }
    config = {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
    return {
        **tok.to_files(),
        "tokenizer_config.json": json.dumps(config, indent=2).encode() + b"\n",
        "provenance.json": json.dumps(provenance, indent=2, ensure_ascii=False).encode() + b"\n",
    }


def main() -> int:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    check = parser.parse_args().check
    built = build()
    if check:
        differ = [name for name, data in built.items() if (DEMO / name).read_bytes() != data]
        for name in differ:
            print(f"{name} is not what training gives", file=sys.stderr)
        return 1 if differ else 0
    DEMO.mkdir(parents=True, exist_ok=True)
    for name, data in built.items():
        (DEMO / name).write_bytes(data)
        print(f"{DEMO.relative_to(ROOT) / name}: {len(data):,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
