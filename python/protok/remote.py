"""Artifacts that another tool's cache or the network holds: the hub, and tiktoken's rank files.

Both keep to the other tool's cache and its rules, so that nothing is downloaded twice. Nothing
here runs unless ``load`` is given a source that names it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from protok.errors import ArtifactError

__all__ = ["ENCODINGS", "hub_folder", "tiktoken_files"]

TIMEOUT_SECONDS = 60
_BASE = "https://openaipublic.blob.core.windows.net/encodings/"


class RankFile(NamedTuple):
    """A rank file, and the encoding that gives it its pattern and its special tokens."""

    name: str
    sha256: str
    encoding: str


_R50K = "r50k_base.tiktoken", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
_P50K = "p50k_base.tiktoken", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"
_CL100K = (
    "cl100k_base.tiktoken",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
)
_O200K = "o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

ENCODINGS = {
    "gpt2": RankFile(*_R50K, "r50k_base"),  # the same ranks, pattern and special token
    "r50k_base": RankFile(*_R50K, "r50k_base"),
    "p50k_base": RankFile(*_P50K, "p50k_base"),
    "p50k_edit": RankFile(*_P50K, "p50k_edit"),
    "cl100k_base": RankFile(*_CL100K, "cl100k_base"),
    "o200k_base": RankFile(*_O200K, "o200k_base"),
    "o200k_harmony": RankFile(*_O200K, "o200k_harmony"),
}


def hub_folder(name: str, patterns: Sequence[str]) -> Path:
    """Return the cached snapshot of ``organisation/name[@revision]``, fetching what is absent."""
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise ArtifactError(
            location=f"hf:{name}",
            what="Loading from the hub needs the package huggingface_hub.",
            hint="Install it with: pip install 'protok[hub]'.",
        ) from error
    repository, _, revision = name.partition("@")
    try:
        folder = snapshot_download(
            repository, revision=revision or None, allow_patterns=list(patterns)
        )
    except (OSError, ValueError) as error:
        raise ArtifactError(
            location=f"hf:{name}",
            what=f"The hub did not give the tokenizer: {error}",
            hint="Check the name, the revision, your access and the network.",
            value=name,
        ) from error
    return Path(folder)


def tiktoken_files(name: str) -> tuple[dict[str, bytes], str]:
    """Return the rank file of an encoding, by its name in tiktoken, and the encoding's name."""
    rank_file = ENCODINGS.get(name)
    if rank_file is None:
        raise ArtifactError(
            location=f"tiktoken:{name}",
            what="tiktoken has no encoding of that name.",
            hint=f"It has {', '.join(ENCODINGS)}.",
            value=name,
        )
    url = _BASE + rank_file.name
    cache = _tiktoken_cache()
    key = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    cached = cache / key if cache else None
    data = None
    if cached is not None and cached.is_file():
        data = cached.read_bytes()
    if data is None or hashlib.sha256(data).hexdigest() != rank_file.sha256:
        data = _download(url, rank_file.sha256)
        if cached is not None:
            _keep(cached, data)
    return {rank_file.name: data}, rank_file.encoding


def _tiktoken_cache() -> Path | None:
    """Return tiktoken's cache folder; an empty name in its variables means none."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable]) if os.environ[variable] else None
    return Path(tempfile.gettempdir()) / "data-gym-cache"


def _download(url: str, sha256: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
            data: bytes = response.read()
    except (urllib.error.URLError, OSError) as error:
        raise ArtifactError(
            location=url,
            what=f"The rank file is not in tiktoken's cache and cannot be downloaded: {error}.",
            hint="Load a rank file from disk instead: load(PATH, encoding=NAME).",
        ) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ArtifactError(
            location=url,
            what="The downloaded rank file does not have the expected SHA-256.",
            hint="Try again; if it stays so, do not use the file.",
            value=hashlib.sha256(data).hexdigest(),
        )
    return data


def _keep(path: Path, data: bytes) -> None:
    """Put a file into the cache in one step; a cache that cannot be written is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            file.write(data)
        Path(file.name).replace(path)
    except OSError:
        return
