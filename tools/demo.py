"""Show protok's main job on the demo tokenizer: pieces, ids, and back to the same text."""

import json
import subprocess
import sys
from pathlib import Path

TEXT = "Tokenization is the text protocol of a language model: naïve café, 東京, 🐈‍⬛ and 12,345."


def run(*arguments: str, capture: bool = False) -> str:
    """Run one ``protok`` command, after printing it, and return its output if asked to."""
    protok = Path(sys.executable).with_name("protok")
    shown = " ".join(f'"{a}"' if " " in a else a for a in arguments)
    print(f"\n$ protok {shown if len(shown) < 160 else shown[:157] + '...'}", flush=True)
    result = subprocess.run(
        [protok, *arguments], check=True, text=True, capture_output=capture, encoding="utf-8"
    )
    return result.stdout or ""


def main() -> int:
    """Inspect, encode, decode, compare."""
    run("inspect", "protok:demo")
    run("encode", "--tokenizer", "protok:demo", TEXT)
    output = run("encode", "--tokenizer", "protok:demo", "--json", TEXT, capture=True)
    ids = [str(id) for id in json.loads(output)["ids"]]
    print(" ".join(ids))
    text = run("decode", "--tokenizer", "protok:demo", *ids, capture=True)
    print(text)
    if text != TEXT:
        print("\nThe decoded text differs from the input.", file=sys.stderr)
        return 1
    print(f"\n{len(TEXT)} characters, {len(ids)} tokens, and the same text back.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
