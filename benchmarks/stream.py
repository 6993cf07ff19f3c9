"""Measure streaming side by side with tokenizers' DecodeStream and transformers' streamer.

    python -m benchmarks.stream                        all vocabularies and texts
    python -m benchmarks.stream --only llama3.1 --repeat 9 --tokens 4000

All run in one process, in turn, one token a call. The figure is the median of the repetitions in
nanoseconds of processor time a token, and the ratio that of the medians. The ids are the same for
all, and the joined texts are compared first: a peer that gives another text than decoding the whole
is measured, and said to differ. "flat" is the cost of a token in an output ten times as long.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

import protok
from benchmarks.machine import RESULTS, describe
from benchmarks.report import write
from benchmarks.texts import SHARED, prose

VOCABULARIES = (
    "gpt2",
    "llama3.1",
    "qwen3",
    "gemma3",
    "mistral-v0.1",
    "minilm-bert-uncased",
    "t5-base",
)
TRANSFORMERS = 400  # tokens: it decodes a line again for every token
Run = Callable[[list[int]], str]


def ours(tok: protok.Tokenizer) -> Run:
    """Stream with protok, looking at the text of every delta."""

    def run(ids: list[int]) -> str:
        stream = tok.stream()
        push = stream.push
        parts = [push(id).text for id in ids]
        parts.append(stream.finish().text)
        return "".join(parts)

    return run


def decode_stream(reference: Tokenizer) -> Run:
    """Stream with tokenizers."""

    def run(ids: list[int]) -> str:
        stream = DecodeStream(skip_special_tokens=False)
        step = stream.step
        parts = []
        for id in ids:
            text = step(reference, id)
            if text is not None:
                parts.append(text)
        return "".join(parts)

    return run


def streamer(path: Path) -> Run | None:
    """Stream with transformers, if it is installed."""
    try:
        import numpy as np
        import transformers
    except ImportError:
        return None
    library: Any = transformers
    tok = library.PreTrainedTokenizerFast(tokenizer_file=str(path))

    def run(ids: list[int]) -> str:
        stream = library.TextIteratorStreamer(tok)
        for id in ids:
            stream.put(np.array([id]))
        stream.end()
        return "".join(stream)

    return run


def nanoseconds(run: Run, ids: list[int]) -> float:
    """Time one pass, without the garbage collector, in processor time."""
    gc.collect()
    gc.disable()
    start = time.process_time_ns()
    run(ids)
    taken = time.process_time_ns() - start
    gc.enable()
    return taken / len(ids)


def measure(peers: dict[str, Run], ids: list[int], whole: str, repeat: int) -> dict[str, Any]:
    """Return each peer's median, and whether its text is that of the whole."""
    rows: dict[str, Any] = {}
    times: dict[str, list[float]] = {name: [] for name in peers}
    cut = {name: ids[:TRANSFORMERS] if name == "transformers" else ids for name in peers}
    for name, run in peers.items():
        rows[name] = {"equal": run(ids) == whole if name != "transformers" else None}
    for _ in range(repeat):
        for name, run in peers.items():
            times[name].append(nanoseconds(run, cut[name]))
    for name, values in times.items():
        rows[name]["median"] = round(statistics.median(values))
        rows[name]["range"] = [round(min(values)), round(max(values))]
    return rows


def main() -> int:
    """Measure, print a table, and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", action="append", choices=VOCABULARIES, help="repeatable")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--out", type=Path, help="a JSON file instead of benchmarks/results")
    options = parser.parse_args()
    if not (SHARED / "corpus").is_dir():
        print("There is no ../shared to read artifacts and corpora from.", file=sys.stderr)
        return 2
    report: dict[str, Any] = {
        "machine": describe(("protok", "tokenizers", "transformers", "numpy")),
        "results": [],
    }
    head = f"{'vocabulary':20} {'text':14} {'protok':>8} {'ten times':>10} {'DecodeStream':>13}"
    print(f"{head} {'ratio':>6} {'transformers':>13} {'ratio':>6}")
    failed = False
    for name in options.only or VOCABULARIES:
        path = SHARED / "artifacts" / name / "tokenizer.json"
        tok = protok.Tokenizer({"tokenizer.json": path.read_bytes()})
        peers: dict[str, Run] = {
            "protok": ours(tok),
            "DecodeStream": decode_stream(Tokenizer.from_file(str(path))),
        }
        if (other := streamer(path)) is not None:
            peers["transformers"] = other
        texts = {
            "English": prose("en", 800_000),
            "multilingual": prose("multi", 800_000),
            "U+FFFD": "\ufffd" * 60_000,
        }
        for text_name, text in texts.items():
            ids = tok.encode(text, add_special_tokens=False, special="text").tolist()
            if not ids:
                continue  # the normalizer drops U+FFFD
            ids, long = ids[: options.tokens], ids[: 10 * options.tokens]
            rows = measure(peers, ids, tok.decode(ids), options.repeat)
            flat = statistics.median(nanoseconds(peers["protok"], long) for _ in range(3))
            ratios = {
                peer: round(rows[peer]["median"] / rows["protok"]["median"], 1)
                for peer in peers
                if peer != "protok"
            }
            failed |= not rows["protok"]["equal"]
            report["results"].append(
                {"vocabulary": name, "text": text_name, "tokens": len(ids), "peers": rows,
                 "ratios": ratios, "ten times as long": round(flat)}
            )  # fmt: skip
            theirs = rows["DecodeStream"]
            line = (
                f"{name:20} {text_name:14} {rows['protok']['median']:8,} {flat:10,.0f} "
                f"{theirs['median']:13,} {ratios['DecodeStream']:5.1f}x"
            )
            if "transformers" in rows:
                line += f" {rows['transformers']['median']:13,} {ratios['transformers']:5.1f}x"
            print(line + ("" if theirs["equal"] else "  DecodeStream's text differs"), flush=True)
    stamp = report["machine"]["date"].replace(":", "").replace("+0000", "Z")
    out = options.out or RESULTS / f"stream-{stamp}.json"
    write(report, out)
    print(f"\nNanoseconds of processor time a token, median of {options.repeat}. Written to {out}.")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
