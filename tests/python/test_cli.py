"""The verbs, as another process sees them: output, messages, exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = "naïve 🐈 12"


def protok(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "from protok.cli import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
    )


def test_encode_and_decode_are_reverse() -> None:
    encoded = protok("encode", "--json", TEXT)
    assert encoded.returncode == 0, encoded.stderr
    ids = json.loads(encoded.stdout)["ids"]
    assert protok("decode", *map(str, ids)).stdout.decode() == TEXT
    assert protok("decode", "-", stdin=json.dumps(ids).encode()).stdout.decode() == TEXT
    assert json.loads(protok("decode", "--json", *map(str, ids)).stdout)["text"] == TEXT


def test_standard_input_and_files_are_taken_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"line\r\n")
    from_stdin = json.loads(protok("encode", "--json", "-", stdin=b"line\r\n").stdout)
    from_file = json.loads(protok("encode", "--json", "--file", str(path)).stdout)
    assert from_stdin == from_file
    count = json.loads(protok("count", "--json", "--files", str(path)).stdout)
    assert count["total"] == {"tokens": len(from_file["ids"]), "bytes": 6}


def test_the_picture_has_pieces_and_ids() -> None:
    result = protok("encode", TEXT)
    assert result.returncode == 0
    shown = result.stdout.decode()
    assert "·" in shown
    assert "\x1b" not in shown  # no colour where nobody sees it
    assert shown.splitlines()[-1].endswith("14 bytes, protok:demo")


def test_every_character_of_a_piece_shows() -> None:
    from protok.cli.encode import visible

    assert visible(b" a\n") == "·a⏎"
    assert visible("\u200d".encode()) == "\\u{200d}"
    assert visible("\u200d\u2b1b".encode()[:4]) == "\\u{200d}\\xe2"
    assert visible("\U0001f408\u200d\u2b1b".encode()) == "\U0001f408\u200d\u2b1b"
    assert visible(b"\x1b[0m") == "\\u{1b}[0m"


def test_inspect() -> None:
    report = json.loads(protok("inspect", "--json").stdout)
    assert report["description"]["model"]["type"] == "BPE"
    assert report["fingerprint"] in "".join(protok("inspect").stdout.decode().split())


def test_inspect_shows_the_stages_in_order() -> None:
    shown = protok("inspect").stdout.decode()
    names = ("added tokens", "normalizer", "pre-tokenizer", "model", "decoder", "roles")
    places = [re.search(f"^{name} ", shown, re.MULTILINE) for name in names]
    starts = [place.start() for place in places if place]
    assert starts == sorted(starts)
    assert len(starts) == len(names)
    for part in ("dfa", "16,384 tokens", "3 flagged special", "eos <|endoftext|>", "unicode"):
        assert part in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_version_and_help() -> None:
    import protok as package

    assert protok("--version").stdout.decode().strip() == f"protok {package.__version__}"
    for verb in ("encode", "decode", "count", "inspect", "trace", "convert"):
        assert verb in protok("--help").stdout.decode()
        assert protok(verb, "--help").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("frobnicate",),
        ("encode",),
        ("encode", "text", "--file", "also.txt"),
        ("encode", "--file", "no/such/file"),
        ("encode", "--special", "other", "text"),
        ("encode", "-m", "no/such/tokenizer", "text"),
        ("encode", "-m", "tiktoken:none", "text"),
        ("decode", "twelve"),
        ("decode", "4294967296"),
        ("decode", "--", "-1"),
        ("count", "--files", "no/such/file"),
        ("inspect", "protok:none"),
        ("trace",),
        ("trace", "-m", "protok:none", "text"),
    ],
    ids=" ".join,
)
def test_bad_usage_and_input_exit_with_2(arguments: tuple[str, ...]) -> None:
    result = protok(*arguments)
    assert result.returncode == 2
    assert result.stdout == b""
    assert result.stderr
    assert b"Traceback" not in result.stderr


def test_invalid_utf8_on_standard_input() -> None:
    result = protok("encode", "-", stdin=b"ab\xff")
    assert result.returncode == 2
    assert b"2" in result.stderr


def test_decoded_text_is_tidied_on_request() -> None:
    ids = json.loads(protok("encode", "--json", "true , isn 't it ?").stdout)["ids"]
    shown = protok("decode", "--clean-up-spaces", *map(str, ids)).stdout.decode()
    assert shown == "true, isn 't it?"


def test_contradictions_are_told_on_the_screen_and_to_machines(tmp_path: Path) -> None:
    assert protok("encode", "--json", "x").returncode == 0
    from protok import load

    load("protok:demo").save(tmp_path)
    config = {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    inspected = protok("inspect", "--json", str(tmp_path))
    components = [found["component"] for found in json.loads(inspected.stdout)["contradictions"]]
    assert "pre_tokenizer" in components
    assert not inspected.stderr
    assert b"contradiction" in protok("inspect", str(tmp_path)).stdout
    encoded = protok("encode", "--json", "--tokenizer", str(tmp_path), "x")
    assert encoded.returncode == 0
    assert b"as_loaded_by" in encoded.stderr
    options = ("--json", "--tokenizer", str(tmp_path), "--as-loaded-by", "transformers")
    as_loaded = protok("encode", *options, "x")
    assert not as_loaded.stderr
    assert json.loads(as_loaded.stdout)["tokens"][0].startswith("\u0120")
