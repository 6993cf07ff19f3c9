"""A tokenizer from a snapshot is the tokenizer, and a snapshot that is not sound is passed over."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import pickle
import sys
from pathlib import Path

import pytest

import protok
from protok import probes, snapshots

ARTIFACTS = {
    "tiktoken/o200k_base.tiktoken": {"encoding": "o200k_base"},
    "tiktoken/cl100k_base.tiktoken": {"encoding": "cl100k_base"},
    "gpt-oss": {},
    "gpt-oss/tokenizer.json": {"as_loaded_by": "transformers"},
    "llama3.1/tokenizer.json": {},
    "qwen3": {},
    "deepseek-v3": {},
    "gemma3": {},
    "mistral-v0.1": {},
    "mistral-tekken/tekken_240718.json": {},
    "rwkv-world/rwkv_vocab_v20230424.txt": {},
    "sentencepiece/llama2_bpe_bytefallback.model": {},
    "sentencepiece/unigram_8k_ja_nfkc.model": {},
    "sentencepiece/word_toy.model": {},
    "gguf/ggml-vocab-deepseek-coder.gguf": {},
    "gguf/ggml-vocab-llama-spm.gguf": {},
    "gguf/ggml-vocab-bert-bge.gguf": {},
    "bert-base-cased": {},
    "albert": {},
    "t5-base": {},
    "clip": {},
    "openai-gpt": {},
    "whisper": {},
    "roberta-robbert-1k": {},
    "xlmr-like-1k": {},
}
PLAIN = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
SMALL = {
    "added_tokens": [{"id": 3, "content": "<s>", "special": True, **PLAIN}],
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]},
}
TEXTS = ["", "ab", "a b<s>", "naïve Café 🐈 don't  \n\n x=1234567", *probes.TEXTS[::5]]
posix = pytest.mark.skipif(os.name != "posix", reason="the permissions are those of POSIX")


def small(**changes: object) -> bytes:
    return json.dumps({**SMALL, **changes}).encode()


def results(tok: protok.Tokenizer) -> list[object]:
    """Return all that a tokenizer does to texts, and all that it says of itself."""
    told: list[object] = [tok.describe(), tok.fingerprint, tok.special_tokens, tok.control_tokens]
    told += [tok.roles, tok.role_tokens, tok.chat_templates, tok.contradictions, tok.warnings]
    told += [tok.vocab.to_dict(), tok.added_tokens, str(tok.spec), repr(tok), tok.vocab.size]
    for text in TEXTS:
        try:
            enc = tok.encode(text, special="parse")
        except protok.ProtokError as error:
            told.append(str(error))
            continue
        told += [enc.tolist(), enc.tokens, enc.offsets.tolist(), tok.decode(enc)]
        told += [tok.encode(text, special="text").tolist(), tok.decode_bytes(enc)]
    told.append(tok.trace("a naïve cat", special="text").to_dict())
    for format in ("huggingface", "tiktoken", "sentencepiece"):
        try:
            told.append(tok.to_files(format))
        except protok.ProtokError as error:
            told.append(str(error))
    return told


@pytest.mark.filterwarnings("ignore::protok.ArtifactWarning")
@pytest.mark.parametrize("name", ARTIFACTS)
def test_real_tokenizers_are_the_same(name: str, shared: Path, tmp_path: Path) -> None:
    source, options = shared / "artifacts" / name, ARTIFACTS[name]
    if not source.exists():
        pytest.fail(f"no {source}")
    plain = protok.load(source, **options)  # type: ignore[arg-type]
    first = protok.load(source, **options, cache=tmp_path)  # type: ignore[arg-type]
    again = protok.load(source, **options, cache=tmp_path)  # type: ignore[arg-type]
    assert [tok.from_snapshot for tok in (plain, first, again)] == [False, False, True]
    assert results(again) == results(plain)
    if name in {"llama3.1/tokenizer.json", "albert"}:
        assert again.inspect() == plain.inspect()


def test_the_second_load_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, folder = tmp_path / "tokenizer.json", tmp_path / "snapshots"
    source.write_bytes(small())
    assert not protok.load(source, cache=folder).from_snapshot
    (snapshot,) = folder.iterdir()
    written = snapshot.stat().st_mtime_ns
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail(f"{self} was read"))
    tok = protok.load(source, cache=folder)
    assert tok.from_snapshot
    assert tok.encode("ab").tolist() == [2]
    assert snapshot.stat().st_mtime_ns == written


def test_only_load_with_cache_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    protok.load("protok:demo")
    assert not list(tmp_path.iterdir())
    for seen in (False, True):
        assert protok.load("protok:demo", cache=True).from_snapshot is seen
    assert len(list(snapshots.user_folder().glob("*.snapshot"))) == 1
    assert snapshots.user_folder().is_relative_to(tmp_path)


def test_a_name_that_is_not_absolute_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert snapshots.user_folder() == Path.home() / ".cache" / "protok" / "snapshots"


def written(folder: Path) -> tuple[Path, bytes]:
    """Write the snapshot of a small tokenizer."""
    assert not protok.load(small(), cache=folder).from_snapshot
    (path,) = folder.iterdir()
    return path, path.read_bytes()


def loads_anew(folder: Path) -> None:
    """Check that the snapshot in the folder is passed over, and a sound one left there."""
    tok = protok.load(small(), cache=folder)
    assert not tok.from_snapshot
    assert tok.encode("abb").tolist() == [2, 1]
    assert protok.load(small(), cache=folder).from_snapshot


def test_cut_off_anywhere(tmp_path: Path) -> None:
    path, data = written(tmp_path)
    for end in [*range(0, 200, 7), *range(200, len(data), 97), len(data) - 1]:
        path.write_bytes(data[:end])
        loads_anew(tmp_path)
    path.write_bytes(data + b"\0")
    loads_anew(tmp_path)


def test_every_byte_changed(tmp_path: Path) -> None:
    path, data = written(tmp_path)
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :])
        assert not protok.load(small(), cache=tmp_path).from_snapshot, at
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("at", "what"),
    [(0, b"anything"), (8, b"\x02\0\0\0"), (12, b"\x01\x02\x03\x04"), (16, bytes(32))],
    ids=["another file", "another version", "another byte order", "another release"],
)
def test_foreign_files(at: int, what: bytes, tmp_path: Path) -> None:
    path, data = written(tmp_path)
    assert data[at : at + len(what)] != what
    path.write_bytes(data[:at] + what + data[at + len(what) :])
    loads_anew(tmp_path)


def test_the_snapshot_of_another_tokenizer(tmp_path: Path) -> None:
    path, _ = written(tmp_path / "one")
    other = small(model={"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": []})
    protok.load(other, cache=tmp_path / "two")
    (foreign,) = (tmp_path / "two").iterdir()
    assert foreign.name != path.name
    foreign.replace(path)
    loads_anew(tmp_path / "one")


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    path.unlink()
    path.mkdir()
    for _ in range(2):
        assert protok.load(small(), cache=tmp_path).encode("ab").tolist() == [2]
    assert [*tmp_path.iterdir()] == [path]


@posix
def test_what_is_no_plain_file(tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    path, _ = written(folder)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    loads_anew(folder)
    path.unlink()
    os.mkfifo(path)  # opening it would wait for a writer
    loads_anew(folder)


@posix
def test_what_others_can_write_to(tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    path, _ = written(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o666)
    loads_anew(folder)
    for mode in (0o720, 0o702, 0o777, 0o1777):
        folder.chmod(mode)
        with pytest.raises(protok.errors.InputError, match="Other users can write"):
            protok.load(small(), cache=folder)
    folder.chmod(0o755)
    assert protok.load(small(), cache=folder).from_snapshot


@posix
def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(snapshots, "_write", refuse)
    for _ in range(2):
        tok = protok.load(small(), cache=tmp_path)
        assert (tok.from_snapshot, tok.encode("ab").tolist()) == (False, [2])
    monkeypatch.undo()
    (tmp_path / "file").write_bytes(b"")
    assert protok.load(small(), cache=tmp_path / "file").encode("ab").tolist() == [2]
    assert protok.load(small(), cache=tmp_path / "file/below").encode("ab").tolist() == [2]


def test_a_changed_file_is_another_tokenizer(tmp_path: Path) -> None:
    source, folder = tmp_path / "tokenizer.json", tmp_path / "snapshots"
    source.write_bytes(small())
    protok.load(source, cache=folder)
    model = {**SMALL["model"], "vocab": {"a": 0, "b": 1, "ab": 4}}  # type: ignore[dict-item]
    source.write_bytes(small(model=model))
    for seen in (False, True):
        tok = protok.load(source, cache=folder)
        assert (tok.from_snapshot, tok.encode("ab").tolist()) == (seen, [4])
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<s>"}')
    for seen in (False, True):
        tok = protok.load(source, cache=folder)
        assert (tok.from_snapshot, tok.roles) == (seen, {"bos": "<s>"})
    assert len([*folder.iterdir()]) == 3


def test_options_are_told_apart(tmp_path: Path) -> None:
    ranks = b"YQ== 0\nYg== 1\nYWI= 2\n"
    source = tmp_path / "x.tiktoken"
    source.write_bytes(ranks)
    folder = tmp_path / "snapshots"
    options: list[dict[str, object]] = [
        {"pattern": "(?s:.)+", "special_tokens": {}},
        {"pattern": "(?s:.)", "special_tokens": {}},
        {"pattern": "(?s:.)+", "special_tokens": {"<s>": 3}},
        {"pattern": "(?s:.)+", "special_tokens": {"<s>": 3}, "control_tokens": []},
    ]
    told = []
    for seen in (False, True):
        for option in options:
            tok = protok.load(source, **option, cache=folder)  # type: ignore[arg-type]
            assert tok.from_snapshot is seen
            ids = (
                tok.encode("ab<s>" if tok.added_tokens else "ab", special="text").tolist()
                if not tok.added_tokens
                else [token.content for token in tok.control_tokens]
            )
            told.append((ids, [token.content for token in tok.added_tokens]))
    assert told[:4] == told[4:]
    assert len({str(one) for one in told}) == 4
    # The size of caches changes no result.
    sized = protok.load(source, **options[0], cache_bytes=0, cache=folder)  # type: ignore[arg-type]
    assert sized.from_snapshot


def test_bad_options_and_files_say_what_they_say_without(tmp_path: Path) -> None:
    for source, options in [
        (b"{", {}),
        (small(), {"control_tokens": ["x"]}),
        (small(), {"as_loaded_by": "nobody"}),
        (tmp_path / "absent.json", {}),
    ]:
        messages = []
        for cache in (False, tmp_path):
            with pytest.raises(protok.ProtokError) as caught:
                protok.load(source, **options, cache=cache)  # type: ignore[arg-type]
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


def load_often(folder: str, start: object, answers: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    ids = {tuple(protok.load(small(), cache=folder).encode("abab").tolist()) for _ in range(40)}
    answers.put(ids)  # type: ignore[attr-defined]


def test_many_processes_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start, answers = context.Barrier(4), context.Queue()
    arguments = (str(tmp_path / "snapshots"), start, answers)
    others = [context.Process(target=load_often, args=arguments) for _ in range(3)]
    for other in others:
        other.start()
    start.wait()
    for _ in range(40):  # meanwhile somebody deletes them
        for path in (tmp_path / "snapshots").glob("*.snapshot"):
            path.unlink(missing_ok=True)
        assert protok.load(small(), cache=tmp_path / "snapshots").encode("ab").tolist() == [2]
    assert [answers.get(timeout=60) for _ in others] == [{(2, 2)}] * 3
    for other in others:
        other.join()
        assert other.exitcode == 0
    assert {path.suffix for path in (tmp_path / "snapshots").iterdir()} <= {".snapshot"}


def test_deleted_while_in_use(tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    tok = protok.load(small(), cache=tmp_path)
    assert tok.from_snapshot
    path.unlink()
    assert tok.encode("ab").tolist() == [2]
    assert tok.to_files() == protok.load(small()).to_files()
    restored = pickle.loads(pickle.dumps(tok))
    assert restored.fingerprint == tok.fingerprint


def test_the_oldest_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, data = written(tmp_path)
    monkeypatch.setattr(snapshots, "MOST_BYTES", 3 * len(data) + 200)
    os.utime(path, (1, 1))
    left_over = tmp_path / ".x.snapshot.0.tmp"
    left_over.write_bytes(b"")
    os.utime(left_over, (1, 1))
    kept = tmp_path / "notes.txt"
    kept.write_bytes(bytes(10_000))
    for index in range(5):
        protok.load(small(extra="x" * index), cache=tmp_path)  # which no reader looks at
    there = [*tmp_path.glob("*.snapshot")]
    assert len(there) == 3
    assert path not in there
    assert not left_over.exists()
    assert kept.exists()


def test_a_snapshot_is_bytes_that_depend_on_nothing_else(tmp_path: Path) -> None:
    digests = set()
    for name in ("one", "two"):
        _, data = written(tmp_path / name)
        digests.add(hashlib.sha256(data).hexdigest())
    assert len(digests) == 1
