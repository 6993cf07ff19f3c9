"""Count the instructions of the core jobs, and hold them to what was recorded.

    python -m benchmarks.counts                        count, compare, exit with 1 on growth
    python -m benchmarks.counts --take "why it grew"   record the counts, and the note

Unlike times, counts of instructions are nearly the same on every machine, however busy. A job that
takes over 5 % more than `benchmarks/counts.json` says fails; what is meant to take more is recorded
with a note. Needs valgrind, and ../shared for artifacts and texts.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
RECORD = Path(__file__).with_name("counts.json")
PROGRAM = ROOT / "target/debug/examples/counted"  # as the tests are built: optimized, and checked
BUILD = ["cargo", "build", "--quiet", "--workspace", "--example", "counted"]

GROWTH = 1.05
ARTIFACTS = ("gpt2", "mistral-v0.1", "minilm-bert-uncased", "t5-base")
JOBS = ("load", "cold", "warm", "places", "decode")
LANGUAGES = ("de", "ru", "ar", "hi", "zh-Hans", "ja", "ko", "th", "am", "el")
SIZE = 60_000  # bytes of each text


def texts(folder: Path) -> dict[str, Path]:
    """Write English prose and a mixture of languages, the same every time."""
    prose = min((SHARED / "corpus/prose/en").glob("*.txt")).read_bytes()
    some = (SHARED / f"corpus/parallel/udhr/{name}.txt" for name in LANGUAGES)
    mixed = b"".join(path.read_bytes()[: SIZE // len(LANGUAGES)] for path in some if path.is_file())
    found = {}
    for name, data in (("english", prose), ("languages", mixed)):
        found[name] = folder / f"{name}.txt"
        found[name].write_text(data[:SIZE].decode("utf-8", "ignore"), encoding="utf-8")
    return found


def count(job: str, artifact: Path, text: Path, folder: Path) -> int:
    """Count the instructions of one job."""
    command = [
        "valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*measured*",
        f"--callgrind-out-file={folder / 'out'}", str(PROGRAM), job, str(artifact), str(text),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not collected or collected[1] == "0":
        sys.exit(f"{job} of {artifact} could not be counted:\n{done.stderr}")
    return int(collected[1])


def counts() -> Iterator[tuple[str, int]]:
    """Count every job."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = texts(folder)
        for artifact in ARTIFACTS:
            path = SHARED / f"artifacts/{artifact}/tokenizer.json"
            for job in JOBS:
                for text in ("english",) if job in ("load", "decode") else tuple(written):
                    title = artifact if job == "load" else f"{artifact} {text}"
                    yield f"{job} {title}", count(job, path, written[text], folder)


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--take", metavar="NOTE", help="record the counts, and say why")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("Counting needs valgrind: on Debian install the package of that name.")
    if not SHARED.is_dir():
        sys.exit("Counting needs ../shared beside the repository.")
    subprocess.run(BUILD, check=True, cwd=ROOT)
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() else {}
    recorded: dict[str, int] = record.get("instructions", {})
    found, grown = {}, []
    for name, instructions in counts():
        found[name] = instructions
        before = recorded.get(name)
        ratio = f"{instructions / before:6.3f}" if before else "   new"
        print(f"{name:42} {instructions / 1e6:10.2f} M  {ratio}", flush=True)
        if before and instructions > GROWTH * before:
            grown.append(name)
    if options.take:
        notes = [*record.get("notes", []), options.take]
        content = json.dumps({"notes": notes, "instructions": found}, indent=1) + "\n"
        partial = RECORD.with_suffix(".partial")
        partial.write_text(content, encoding="utf-8")
        partial.replace(RECORD)
        return 0
    if missing := sorted(found.keys() ^ recorded.keys()):
        print(f'\nNot in both: {", ".join(missing)}. Record them: --take "why".')
        return 1
    if grown:
        print(f"\nMore than 5 % above the record: {', '.join(grown)}. Find out why; "
              'if it is meant, --take "why".')  # fmt: skip
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
