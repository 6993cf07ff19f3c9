"""Corpus readers: formats, compression, documents, and bytes that are not text."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_artifacts import EMPTY

from protok import InputError, _core, corpus
from protok.corpus import Facts, Source, Split, documents, expand, read, split

TEXT = "one\ntwo é\n\nthree\r\n\r\n\nfour 🐈"


def texts_of(path: Path, source: Source, *, strip: bool = True) -> list[str]:
    return list(documents([replace(source, files=(str(path),))], strip=strip))


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.txt", lambda data: data),
        ("a.txt.gz", gzip.compress),
        ("a.bz2", bz2.compress),
        ("a.text.xz", lzma.compress),
    ],
)
def test_compressed_text(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / name
    packed = pack(TEXT.encode())
    path.write_bytes(packed)
    assert texts_of(path, Source()) == ["one", "two é", "three", "four 🐈"]
    assert texts_of(path, Source(split="paragraph")) == ["one\ntwo é", "three", "four 🐈"]
    assert texts_of(path, Source(split="separator", separator="two")) == ["one", " é" + TEXT[9:]]
    assert texts_of(path, Source(split="whole"), strip=False) == [TEXT]
    facts = Facts()
    assert b"".join(block.data for block in read(path, Source(), facts)).decode() == TEXT
    assert (facts.sha256, facts.bytes) == (sha256(packed).hexdigest(), len(packed))


def test_zstandard(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.jsonl.zst"
    frame = zstandard.ZstdCompressor().compress
    path.write_bytes(frame(b'{"text": "one"}\n') + frame(b'{"text": "two"}\n'))
    facts = Facts()
    assert [block.texts for block in read(path, facts=facts)] == [("one", "two")]
    assert facts.sha256 == sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["a.gz", "a.xz", "a.bz2"])
def test_a_damaged_archive(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    packers: dict[str, Callable[[bytes], bytes]] = {
        "a.gz": gzip.compress,
        "a.xz": lzma.compress,
        "a.bz2": bz2.compress,
    }
    pack = packers[name]
    path.write_bytes(pack(random.Random(1).randbytes(9000).hex().encode())[:-900])
    with pytest.raises(InputError, match=name):
        list(read(path))
    path.write_bytes(b"plain text")
    with pytest.raises(InputError, match=name):
        list(read(path))


def test_tables(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, ipc, parquet

    table = pa.table({"text": ["one", None, "two\n"], "number": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, str(tmp_path / "a.arrow"), compression="uncompressed")
    with ipc.new_stream(str(tmp_path / "b.arrow"), table.schema) as stream:
        stream.write_table(table)
    for name in ("a.parquet", "a.arrow", "b.arrow"):
        assert texts_of(tmp_path / name, Source()) == ["one", "two"]
        facts = Facts()
        list(read(tmp_path / name, facts=facts))
        assert facts.sha256 == sha256((tmp_path / name).read_bytes()).hexdigest()
        with pytest.raises(InputError, match=rf"{name}.*'body'.*text, number"):
            list(read(tmp_path / name, Source(field="body")))
        with pytest.raises(InputError, match=r"'number'.*no text"):
            list(read(tmp_path / name, Source(field="number")))
    (tmp_path / "c.parquet").write_bytes(b"PAR1 is not enough")
    with pytest.raises(InputError, match=r"c\.parquet"):
        list(read(tmp_path / "c.parquet"))


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a\\nb", "n": 1}\n\n{"text": "c"}')
    assert texts_of(path, Source()) == ["a\nb", "c"]
    for line, what in (
        ("{'text': 1}", "no JSON"),
        ('{"text": 1}', "no text in the field 'text'"),
        ('["text"]', "no text in the field 'text'"),
        ('{"body": "x"}', "no text in the field 'text'"),
        ('{"text": "\\ud800"}', r"half a character \(U\+D800\)"),
    ):
        path.write_text('{"text": "fine"}\n' + line + "\n")
        with pytest.raises(InputError, match=rf"a\.jsonl, line 2: .*{what}"):
            list(read(path))


def test_half_characters_follow_the_policy(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a\\ud800b"}\n{"text": "\\ud83d\\ude00"}\n')
    assert texts_of(path, Source(encoding_errors="skip")) == ["😀"]
    assert texts_of(path, Source(encoding_errors="replace")) == ["a\ufffdb", "😀"]


def test_bytes_that_are_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"fine\n" * 10 + b"caf\xe9 au lait\nalso fine\n\xff")
    for block in (8, 1 << 20):
        monkeypatch.setattr(corpus, "BLOCK", block)
        with pytest.raises(InputError, match=r"latin\.txt, byte 53: .*not UTF-8") as caught:
            list(read(path))
        assert (caught.value.position, caught.value.value) == (53, "e9")
        facts = Facts()
        data = [b.data for b in read(path, Source(encoding_errors="replace"), facts)]
        replaced = b"fine\n" * 10 + "caf\ufffd au lait\nalso fine\n\ufffd".encode()
        assert (b"".join(data), facts.invalid) == (replaced, 2)
        facts = Facts()
        data = [b.data for b in read(path, Source(encoding_errors="skip"), facts)]
        assert (b"".join(data), facts.invalid) == (b"fine\n" * 10 + b"also fine\n", 2)


@pytest.mark.parametrize("kind", ["line", "paragraph", "separator", "whole"])
def test_blocks_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Split) -> None:
    source = Source(split=kind, separator="aa" if kind == "separator" else None)
    path = tmp_path / "a.txt"
    random_ = random.Random(3)
    for _ in range(60):
        text = "".join(random_.choices("ab\n\n\r", k=random_.randrange(60)))
        path.write_bytes(text.encode())
        whole = list(split(text, source))
        for block in (1, 2, 3, 7, 1 << 20):
            monkeypatch.setattr(corpus, "BLOCK", block)
            assert texts_of(path, source, strip=False) == whole, (text, block)


@given(
    text=st.text(alphabet="ab|\n\r", max_size=40),
    kind=st.sampled_from(["line", "paragraph", "separator", "whole"]),
    strip=st.booleans(),
)
def test_the_engine_cuts_documents_alike(text: str, kind: Split, strip: bool) -> None:
    source = Source(split=kind, separator="|" if kind == "separator" else None)
    counter = _core.WordCounter(EMPTY)
    number, held_out = counter.feed_block(
        text.encode(), split=kind, separator=source.separator, strip=strip
    )
    found = list(split(text, source, strip=strip))
    assert (number, held_out) == (len(found), [])
    assert [word.decode() for word, _ in counter.items()] == list(dict.fromkeys(found))


def test_patterns_are_expanded_in_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "deep/c.txt", "deep/er/a.txt", "other.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    source = Source(files=("b.txt", "**/*.txt", "a.txt"))
    names = [path.relative_to(tmp_path).as_posix() for path in expand(source, tmp_path)]
    assert names == ["b.txt", "a.txt", "deep/c.txt", "deep/er/a.txt"]
    for missing in ("*.csv", "gone.txt", "deep"):
        with pytest.raises(InputError, match=missing.replace("*", r"\*")):
            expand(Source(files=(missing,)), tmp_path)


def test_a_separator_has_a_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(InputError, match="separator"):
        list(read(tmp_path / "a", Source(split="separator")))
