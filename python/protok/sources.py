"""Where an artifact's bytes come from: a folder, a file, bytes, or a named source.

Nothing is interpreted here. The engine reads the files; this module only finds the ones that
belong together and gives them the names by which the engine knows their format.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from protok.errors import ArtifactError, InputError, unreadable

__all__ = ["KNOWN_FILES", "Artifact", "Found", "find", "read"]

# One of these is the tokenizer; where a folder holds several, the first one in this order is.
PRIMARY_FILES = (
    "tokenizer.json",
    "tekken.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "*.tiktoken",
    "*.gguf",
    "vocab.json",
    "vocab.txt",
)

# These complete any of them.
COMPANION_FILES = (
    "tokenizer_config.json",
    "config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "generation_config.json",
    "chat_template.jinja",
    "chat_template.json",
    "encoding.json",
)

# So do all templates in these folders.
TEMPLATE_FOLDERS = ("additional_chat_templates", "chat_templates")

# These complete one of them.
PARTNER_FILES = {"vocab.json": ("merges.txt",)}

KNOWN_FILES = (
    *PRIMARY_FILES,
    *COMPANION_FILES,
    *(name for names in PARTNER_FILES.values() for name in names),
    *(f"{folder}/*.jinja" for folder in TEMPLATE_FOLDERS),
)


class Found(NamedTuple):
    """Where the files of one tokenizer are, or what is in them, by name; and the encoding."""

    files: dict[str, Path | bytes]
    encoding: str | None = None

    def read(self) -> Artifact:
        """Read the files."""
        return Artifact({name: _content(file) for name, file in self.files.items()}, self.encoding)


class Artifact(NamedTuple):
    """The files of one tokenizer by name, and the encoding that its source implies."""

    files: dict[str, bytes]
    encoding: str | None = None


def read(source: str | os.PathLike[str] | bytes) -> Artifact:
    """Read the artifact that ``source`` stands for."""
    return find(source).read()


def find(source: str | os.PathLike[str] | bytes) -> Found:
    """Find the files that ``source`` stands for, and leave them unread where they can be."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        return Found({_name_by_content(data): data})
    if isinstance(source, str):
        scheme, separator, rest = source.partition(":")
        if separator and scheme == "protok":
            return _find_bundled(rest)
        if separator and scheme in {"hf", "tiktoken"}:
            from protok import remote  # noqa: PLC0415  (network code, only where it is asked for)

            if scheme == "hf":
                return find_in_folder(remote.hub_folder(rest, KNOWN_FILES), shown=source)
            files, encoding = remote.tiktoken_files(rest)
            return Found({**files}, encoding)
    elif not isinstance(source, os.PathLike):
        raise InputError(
            what=f"load takes a path, a name or bytes, not {type(source).__name__}.",
            value=type(source).__name__,
        )
    path = Path(source)
    if path.is_dir():
        return find_in_folder(path)
    if path.is_file():
        return _find_file(path)
    raise ArtifactError(
        location=str(path),
        what="There is no such file or folder.",
        hint="Give a tokenizer file, a folder that holds one, hf:ORGANISATION/NAME, "
        "tiktoken:NAME or protok:demo.",
        value=str(source),
    )


def find_in_folder(folder: Path, *, shown: str | None = None) -> Found:
    """Find the tokenizer of a folder, with its companions."""
    shown = shown or str(folder)
    for pattern in PRIMARY_FILES:
        matches = sorted(path for path in folder.glob(pattern) if path.is_file())
        if len(matches) > 1:
            names = ", ".join(path.name for path in matches)
            raise ArtifactError(
                location=shown,
                what=f"The folder holds several tokenizers: {names}.",
                hint="Give the path of one of them.",
            )
        if matches:
            return Found(_with_companions(matches[0]))
    raise ArtifactError(
        location=shown,
        what="The folder holds no tokenizer.",
        hint=f"Looked for {', '.join(PRIMARY_FILES)}.",
    )


def _find_file(path: Path) -> Found:
    if path.name == "merges.txt" and path.with_name("vocab.json").is_file():
        path = path.with_name("vocab.json")
    if any(path.match(pattern) for pattern in PRIMARY_FILES):
        return Found(_with_companions(path))
    data = _bytes(path)
    return Found({_name_by_suffix(path, data): data})


def _find_bundled(name: str) -> Found:
    from importlib.resources import files  # noqa: PLC0415  (slow to import)

    folder = files("protok") / "data" / name
    if not name.isidentifier() or not (folder / "tokenizer.json").is_file():
        raise ArtifactError(
            location=f"protok:{name}",
            what="protok brings no tokenizer of that name.",
            hint="It brings protok:demo.",
            value=name,
        )
    present = {file.name: file for file in folder.iterdir()}
    names = ("tokenizer.json", *COMPANION_FILES)
    return Found({name: present[name].read_bytes() for name in names if name in present})


def _with_companions(path: Path) -> dict[str, Path | bytes]:
    files: dict[str, Path | bytes] = {path.name: path}
    for name in (*PARTNER_FILES.get(path.name, ()), *COMPANION_FILES):
        companion = path.with_name(name)
        if companion.is_file():
            files[name] = companion
    for folder in TEMPLATE_FOLDERS:
        for template in sorted(path.with_name(folder).glob("*.jinja")):
            files[f"{folder}/{template.name}"] = template
    return files


def _content(file: Path | bytes) -> bytes:
    return file if isinstance(file, bytes) else _bytes(file)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error, ArtifactError, "Check its permissions.") from error


def _name_by_suffix(path: Path, data: bytes) -> str:
    """Name a file that is not called what its format's files are called."""
    if path.suffix in {".tiktoken", ".gguf", ".model", ".txt"}:
        return path.name
    if ".model" in path.suffixes:  # tokenizer.model.v3
        return "tokenizer.model"
    if path.name.startswith("tekken"):
        return "tekken.json"
    return _name_by_content(data)


def _name_by_content(data: bytes) -> str:
    head = data[:64].lstrip()
    if head.startswith(b"{"):
        return "tokenizer.json"
    if head.startswith(b"GGUF"):
        return "tokenizer.gguf"
    return "tokenizer.model"
