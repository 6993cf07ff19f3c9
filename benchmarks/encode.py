"""Measure encoding side by side with tiktoken and tokenizers.

    python benchmarks/encode.py                    all vocabularies and inputs
    python benchmarks/encode.py --only cl100k_base --repeat 9 --megabytes 10

All libraries run in one process, in turn, on the same text and one thread; the figure is the
median of the repetitions in MB (10^6 bytes of UTF-8) a second, and the ratio that of the medians.
The ids are compared first: a library with other ids is not measured. "warm" is a tokenizer that
has seen the text before, "cold" one that was made for this run alone.
"""

from __future__ import annotations

import argparse
import base64
import datetime as dt
import gc
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer

import protok

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
RESULTS = ROOT / "benchmarks/results"
HUGGING_FACE = ("gpt2", "llama3.1", "qwen3")
RANK_FILES = ("r50k_base", "cl100k_base", "o200k_base")
MILLION = 1_000_000
DOCUMENT = 10_000  # characters
Encode = Callable[[list[str]], list[list[int]]]
Make = Callable[[], Encode]


def ours(make: Callable[[], protok.Tokenizer]) -> Make:
    """Encode with protok, one text a call, to Python lists as the others give."""

    def build() -> Encode:
        tok = make()
        return lambda texts: [
            tok.encode(text, add_special_tokens=False, special="text").tolist() for text in texts
        ]

    return build


def hugging_face(name: str) -> dict[str, Make]:
    """Return the libraries that read a tokenizer.json."""
    path = SHARED / "artifacts" / name / "tokenizer.json"

    def reference() -> Encode:
        tok = Tokenizer.from_file(str(path))
        tok.no_truncation()
        tok.no_padding()
        return lambda texts: [tok.encode(text, add_special_tokens=False).ids for text in texts]

    data = {"tokenizer.json": path.read_bytes()}
    return {"protok": ours(lambda: protok.Tokenizer(data)), "tokenizers": reference}


def rank_file(encoding: str) -> dict[str, Make]:
    """Return the libraries that read a rank file."""
    folder = SHARED / "artifacts/tiktoken"
    described = json.loads((folder / "encodings.json").read_text("utf-8"))[encoding]
    path = folder / described["rank_file"]
    ranks = load_tiktoken_bpe(str(path))

    def reference() -> Encode:
        tok = tiktoken.Encoding(
            encoding,
            pat_str=described["pat_str"],
            mergeable_ranks=ranks,
            special_tokens=described["special_tokens"],
        )
        return lambda texts: [tok.encode_ordinary(text) for text in texts]

    return {
        "protok": ours(lambda: protok.load(path, encoding=encoding)),
        "tiktoken": reference,
    }


# -- inputs -----------------------------------------------------------------------------------


def prose(folder: str, size: int) -> str:
    """Return about ``size`` bytes, an equal share of every file of a folder."""
    paths = sorted((SHARED / "corpus/prose" / folder).glob("*.txt"))
    parts = [path.read_bytes()[: size // len(paths)].decode("utf-8", "ignore") for path in paths]
    return "".join(parts)


def documents(text: str) -> list[str]:
    """Cut a text into documents."""
    return [text[start : start + DOCUMENT] for start in range(0, len(text), DOCUMENT)]


def hostile() -> dict[str, list[str]]:
    """Return megabytes that make careless tokenizers slow: each is one text."""
    source = random.Random(1)
    noise = source.randbytes(MILLION)
    lower = "".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=MILLION))
    return {
        "1 MB one letter": ["a" * MILLION],
        "1 MB letters": [lower],
        "1 MB spaces": [" " * MILLION],
        "1 MB line ends": ["\n" * MILLION],
        "1 MB digits": ["".join(source.choices("0123456789", k=MILLION))],
        "1 MB punctuation": ["!" * MILLION],
        "1 MB base64": [base64.b64encode(noise).decode()[:MILLION]],
        "1 MB latin-1 noise": [noise.decode("latin-1")],
        "1 MB ideographs": ["".join(chr(source.randint(0x4E00, 0x9FFF)) for _ in range(333_333))],
        "1 MB combining marks": ["e" + "\u0301" * 500_000],
        "1 MB emoji": ["\U0001f469\u200d\U0001f4bb" * 90_000],
    }


# -- measuring --------------------------------------------------------------------------------


def seconds(encode: Encode, texts: list[str]) -> float:
    """Time one pass, without the garbage collector."""
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    encode(texts)
    taken = time.perf_counter() - start
    gc.enable()
    return taken


def measure(
    libraries: dict[str, Make], texts: list[str], repeat: int, *, cold: bool
) -> dict[str, Any]:
    """Return each library's median MB a second and its range, after comparing the ids."""
    size = sum(len(text.encode()) for text in texts) / 1e6
    made = {name: make() for name, make in libraries.items()}
    reference = next(name for name in libraries if name != "protok")
    ids = {"protok": made["protok"](texts)}
    try:
        ids[reference] = made[reference](texts)
    except BaseException as error:  # tiktoken's panic is no Exception: its stack may overflow
        if isinstance(error, KeyboardInterrupt):
            raise
        own = [size / seconds(made["protok"], texts) for _ in range(repeat)]
        median = round(statistics.median(own), 2)
        what = f"{reference} fails: {str(error)[:60]}; protok runs at {median} MB/s, warm"
        return {"megabytes": size, "error": what}
    if ids["protok"] != ids[reference]:
        return {"megabytes": size, "error": f"other ids than {reference}"}
    del ids
    speeds: dict[str, list[float]] = {name: [] for name in libraries}
    for _ in range(repeat):
        for name, make in libraries.items():
            speeds[name].append(size / seconds(make() if cold else made[name], texts))
    rows = {
        name: {
            "median": round(statistics.median(values), 2),
            "range": [round(min(values), 2), round(max(values), 2)],
        }
        for name, values in speeds.items()
    }
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    ratio = round(medians["protok"] / medians[reference], 2)
    return {"megabytes": round(size, 3), "speeds": rows, "ratio": ratio}


def machine() -> dict[str, Any]:
    """Describe where and with what the figures were measured."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=False, capture_output=True
    )
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.is_file():
        names = [
            line.partition(":")[2].strip()
            for line in information.read_text().splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else model
    return {
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.decode().strip(),
        "system": platform.platform(),
        "processor": model,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("protok", "tiktoken", "tokenizers", "numpy")},
        },
    }


def write(report: dict[str, Any], kind: str, out: Path | None) -> Path:
    """Write a report, by default among the results by kind and date, and say where."""
    stamp = report["machine"]["date"].replace(":", "").replace("+0000", "Z")
    out = out or RESULTS / f"{kind}-{stamp}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1) + "\n")
    return out


def main() -> int:
    """Measure, print a table, and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", action="append", help="a vocabulary; repeatable")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=5, help="of English, multilingual")
    parser.add_argument("--skip-hostile", action="store_true")
    parser.add_argument("--out", type=Path, help="a JSON file instead of benchmarks/results")
    options = parser.parse_args()
    if not (SHARED / "corpus").is_dir():
        print("There is no ../shared to read artifacts and corpora from.", file=sys.stderr)
        return 2
    size = int(options.megabytes * MILLION)
    inputs = {name: documents(prose(folder, size)) for name, folder in
              (("English", "en"), ("multilingual", "multi"))}  # fmt: skip
    jobs = [(name, cold) for name in inputs for cold in (True, False)]
    if not options.skip_hostile:
        inputs |= hostile()
        jobs += [(name, True) for name in inputs if name.startswith("1 MB")]
    report: dict[str, Any] = {"machine": machine(), "results": []}
    print(f"{'vocabulary':12} {'input':22} {'':5} {'protok':>8} {'reference':>20} {'ratio':>7}")
    failed = False
    for name in options.only or [*RANK_FILES, *HUGGING_FACE]:
        libraries = rank_file(name) if name in RANK_FILES else hugging_face(name)
        for job, cold in jobs:
            result = measure(libraries, inputs[job], options.repeat, cold=cold)
            state = "cold" if cold else "warm"
            report["results"].append({"vocabulary": name, "input": job, "state": state, **result})
            if "error" in result:
                failed = True
                print(f"{name:12} {job:22} {state:5} {result['error']}", flush=True)
                continue
            speeds = {peer: row["median"] for peer, row in result["speeds"].items()}
            peer = next(peer for peer in speeds if peer != "protok")
            print(
                f"{name:12} {job:22} {state:5} {speeds['protok']:8.1f} "
                f"{peer:>11} {speeds[peer]:8.1f} {result['ratio']:6.2f}x",
                flush=True,
            )
    out = write(report, "encode", options.out)
    print(f"\nMB (10^6 bytes) a second, median of {options.repeat}. Written to {out}.")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
