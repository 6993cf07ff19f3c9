"""Convert: checked before it counts, and nothing left behind when it does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import protok
from protok import conversion, probes, saving

VOCAB = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n##s\n"
RANKS = {"pattern": r"\p{L}+|[^\p{L}]", "special_tokens": {"<|end|>": 256}}


def cli(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "from protok.cli import main; main()", "convert", *arguments],
        capture_output=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    source = tmp_path / "bert"
    source.mkdir()
    (source / "vocab.txt").write_bytes(VOCAB)
    return source


@pytest.fixture
def ranks() -> protok.Tokenizer:
    import base64

    lines = [f"{base64.b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256)]
    return protok.Tokenizer({"x.tiktoken": "".join(lines).encode()}, **RANKS)  # type: ignore[arg-type]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_probes_are_short_and_different() -> None:
    assert len(set(probes.TEXTS)) == len(probes.TEXTS) > 300
    assert max(map(len, probes.TEXTS)) < 200
    assert {"", " ", "\x00", "▁", "<s>"} <= set(probes.TEXTS)
    letters = {char for text in probes.TEXTS for char in text}
    assert len(letters) > 800


def test_convert_to_a_folder_and_to_a_file(bert: Path, tmp_path: Path) -> None:
    tok = protok.load(bert)
    done = protok.convert(bert, tmp_path / "new/folder")
    assert done.files == ("tokenizer.json", "tokenizer_config.json")
    assert names(tmp_path / "new") == {"folder"}
    assert protok.load(tmp_path / "new/folder").fingerprint == tok.fingerprint == done.fingerprint
    assert (done.format, done.source) == ("huggingface", str(bert))
    assert done.texts > len(probes.TEXTS)
    assert done.tokens > done.texts
    again = protok.convert(tok, tmp_path / "back/vocab.txt")
    assert again.format == "vocab.txt"
    assert names(tmp_path / "back") == {"vocab.txt", "tokenizer_config.json"}
    assert (tmp_path / "back/vocab.txt").read_bytes() == VOCAB


def test_ranks_keep_their_companion(ranks: protok.Tokenizer, tmp_path: Path) -> None:
    done = protok.convert(ranks, tmp_path / "mine.tiktoken")
    assert names(tmp_path) == {"mine.tiktoken", "encoding.json"}
    assert protok.load(tmp_path / "mine.tiktoken").fingerprint == ranks.fingerprint
    assert done.fingerprint == ranks.fingerprint
    listed = protok.convert(ranks, tmp_path / "listed")
    assert listed.fingerprint != ranks.fingerprint


def test_a_file_beside_others_replaces_only_itself(bert: Path, tmp_path: Path) -> None:
    target = tmp_path / "tokenizer.json"
    target.write_bytes(b"old")
    (tmp_path / "other.txt").write_bytes(b"kept")
    protok.convert(bert, target)
    assert protok.load(target).fingerprint == protok.load(bert).fingerprint
    assert names(tmp_path) == {"bert", "tokenizer.json", "other.txt"}


def test_a_difference_leaves_everything_as_it_was(
    bert: Path, demo: protok.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "tokenizer.json").write_bytes(b"old")
    tok = protok.load(bert)
    monkeypatch.setattr(conversion, "load", lambda _: demo)
    with pytest.raises(protok.VerificationError) as caught:
        protok.convert(tok, target)
    assert caught.value.location == str(target)
    assert caught.value.value == probes.TEXTS[0]
    assert caught.value.position == 0
    assert "in the original" in str(caught.value)
    assert names(target) == {"tokenizer.json"}
    assert (target / "tokenizer.json").read_bytes() == b"old"
    with pytest.raises(protok.VerificationError):
        protok.convert(tok, tmp_path / "never/seen")
    assert names(tmp_path) == {"bert", "out"}


def test_every_kind_of_difference_is_found(demo: protok.Tokenizer) -> None:
    text = json.loads(demo.to_files()["tokenizer.json"])

    def changed(**stages: object) -> protok.Tokenizer:
        return protok.load(json.dumps({**text, **stages}).encode())

    assert conversion.compare(demo, changed(), "x")[0] > 500
    template = {"type": "BertProcessing", "sep": ["a", 65], "cls": ["a", 65]}
    added = text["added_tokens"]
    for stages in (
        {"normalizer": {"type": "NFC"}},
        {"normalizer": {"type": "Lowercase"}},
        {"decoder": {"type": "Fuse"}},
        {"post_processor": template},
        {"added_tokens": [{**added[0], "special": not added[0]["special"]}, *added[1:]]},
        {"added_tokens": added[:-1]},
        {"added_tokens": [{**added[0], "lstrip": True}, *added[1:]]},
    ):
        with pytest.raises(protok.VerificationError):
            conversion.compare(demo, changed(**stages), "x")


def test_what_is_written_must_be_readable(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(_: object) -> protok.Tokenizer:
        raise protok.ArtifactError(what="It is damaged.")

    tok = protok.load(bert)
    monkeypatch.setattr(conversion, "load", unreadable)
    with pytest.raises(protok.VerificationError, match="damaged"):
        protok.convert(tok, tmp_path / "out")
    assert names(tmp_path) == {"bert"}


def test_what_cannot_be_said_is_named(bert: Path, tmp_path: Path) -> None:
    with pytest.raises(protok.ArtifactError) as caught:
        protok.convert(bert, tmp_path / "x.model")
    assert caught.value.location == "model"
    with pytest.raises(protok.ArtifactError) as caught:
        protok.convert("protok:demo", tmp_path / "x/vocab.txt")
    assert caught.value.location == "model"
    assert names(tmp_path) == {"bert"}


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("x.bin", None),
        ("x.model", "huggingface"),
        ("mine.txt", "vocab.txt"),
        ("tokenizer_config.json", "huggingface"),
        ("out", "gguf"),
    ],
)
def test_names_that_no_file_of_the_format_has(
    bert: Path, tmp_path: Path, name: str, format: str | None
) -> None:
    with pytest.raises(protok.InputError) as caught:
        protok.convert(bert, tmp_path / name, format=format)
    assert caught.value.hint
    assert names(tmp_path) == {"bert"}


def test_a_folder_with_another_tokenizer_is_refused(bert: Path, tmp_path: Path) -> None:
    tok = protok.load(bert)
    # A tokenizer.json would be read first, so it may stand beside.
    protok.convert(bert, bert)
    assert protok.load(bert).spec.model.type == "WordPiece"
    with pytest.raises(protok.InputError, match=r"tokenizer\.json, which would be read instead"):
        protok.convert(tok, bert, format="vocab.txt")
    (tmp_path / "stale").mkdir()
    (tmp_path / "stale/special_tokens_map.json").write_bytes(b"{}")
    with pytest.raises(protok.InputError, match=r"special_tokens_map\.json"):
        protok.convert(tok, tmp_path / "stale")


def _toy() -> bytes:
    """Return a tokenizer.json that SentencePiece can say: characters, no blanks' rules."""
    decoder = {
        "type": "Sequence",
        "decoders": [
            {"type": "Fuse"},
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        ],
    }
    model = {"type": "BPE", "unk_token": "?", "fuse_unk": True, "merges": [["a", "b"]]}
    vocab = {"?": 0, "a": 1, "b": 2, "ab": 3}
    return json.dumps({"model": {**model, "vocab": vocab}, "decoder": decoder}).encode()


def test_a_sentencepiece_model_without_files(tmp_path: Path) -> None:
    """``?`` is the unknown token and one character: no SentencePiece model reads it as text."""
    with pytest.raises(protok.ArtifactError) as caught:
        protok.convert(protok.load(_toy()), tmp_path / "x.model")
    assert caught.value.location == "model.vocab[0]"
    data = _toy().replace(b'"?"', b'"<?>"')
    done = protok.convert(protok.load(data), tmp_path / "x.model")
    assert (done.format, done.files) == ("sentencepiece", ("x.model",))
    tok = protok.load(tmp_path / "x.model")
    assert tok.encode("ab?a").tolist() == [tok.vocab[token] for token in ("ab", "<?>", "a")]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(bert: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    for target in (locked / "out", locked / "tokenizer.json"):
        with pytest.raises(protok.ArtifactError, match="cannot be written"):
            protok.convert(bert, target)
        with pytest.raises(protok.ArtifactError, match="cannot be written"):
            protok.load(bert).save(target)
    assert names(locked) == set()


def test_a_file_where_a_folder_should_be(bert: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"kept")
    for target in (tmp_path / "file/out", tmp_path / "file/deep/tokenizer.json"):
        with pytest.raises(protok.ArtifactError, match="cannot be written"):
            protok.convert(bert, target)
        with pytest.raises(protok.ArtifactError, match="cannot be written"):
            protok.load(bert).save(target)
    assert names(tmp_path) == {"bert", "file"}


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_nothing(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(*((os, "fsync", fail) if failing == "fsync" else (Path, "replace", fail)))
    for target in (tmp_path / "new/out", tmp_path / "new/tokenizer.json"):
        with pytest.raises(protok.ArtifactError, match="disk full"):
            protok.convert(bert, target)
        with pytest.raises(protok.ArtifactError, match="disk full"):
            protok.load(bert).save(target)
    assert names(tmp_path) == {"bert"}


def test_saved_formats_have_names() -> None:
    with pytest.raises(protok.InputError) as caught:
        protok.load("protok:demo").to_files("other")
    for format in saving.FILE_NAMES:
        assert format in str(caught.value)


def test_command_line(bert: Path, tmp_path: Path) -> None:
    result = cli(str(bert), str(tmp_path / "out"))
    assert result.returncode == 0, result.stderr
    shown = " ".join(result.stdout.decode().split())
    for part in ("tokenizer.json", "format huggingface", "texts", "the same ids", "sha256:"):
        assert part in shown
    result = cli("--json", "--format", "vocab.txt", str(bert), str(tmp_path / "again"))
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["verdict"] == "equal"
    assert report["files"] == ["vocab.txt", "tokenizer_config.json"]
    assert report["fingerprint"] == protok.load(bert).fingerprint


def test_command_line_exit_codes(bert: Path, tmp_path: Path) -> None:
    result = cli(str(bert), str(tmp_path / "x.model"))
    assert result.returncode == 2
    assert b"protok: model: " in result.stderr
    for arguments in ((), ("x",), (str(bert), str(tmp_path / "y"), "--format", "zip")):
        assert cli(*arguments).returncode == 2
    code = (
        "from protok import conversion; import protok;"
        "demo = protok.load('protok:demo'); first = conversion.load;"
        "conversion.load = lambda s: demo if '.tmp' in str(s) else first(s);"
        "from protok.cli import main; main()"
    )
    arguments = ("convert", "--json", str(bert), str(tmp_path / "z"))
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, check=False, timeout=120
    )
    assert result.returncode == 1, result.stderr
    assert json.loads(result.stdout)["verdict"] == "different"
    assert b"in the original" in result.stderr
    assert names(tmp_path) == {"bert"}
