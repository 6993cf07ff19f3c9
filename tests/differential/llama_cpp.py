"""llama.cpp's own tokenizers, through the shared library that the environment names.

`PROTOK_LIBLLAMA` is the path of a `libllama.so` of release v0.5.0, with its `libggml` beside it:
built from source, or as packages for other languages carry it.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

VARIABLE = "PROTOK_LIBLLAMA"
# Where `vocab_only` is in `llama_model_params`, and the bytes of that structure.
VOCAB_ONLY, SIZE = 72, 80
ERROR = 4


class Parameters(ctypes.Structure):
    """`llama_model_params`, whose fields do not matter but for one."""

    _fields_ = (("bytes", ctypes.c_ubyte * SIZE),)


def is_there() -> bool:
    """Tell whether the environment names the library."""
    return VARIABLE in os.environ


def _library() -> Any:
    library = ctypes.CDLL(os.environ[VARIABLE], ctypes.RTLD_GLOBAL)
    pointer, text, number, flag = (
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_int32,
        ctypes.c_bool,
    )
    library.llama_model_default_params.restype = Parameters
    library.llama_model_load_from_file.restype = pointer
    library.llama_model_load_from_file.argtypes = [text, Parameters]
    library.llama_model_free.argtypes = [pointer]
    library.llama_model_get_vocab.restype = pointer
    library.llama_model_get_vocab.argtypes = [pointer]
    library.llama_tokenize.argtypes = [pointer, text, number, pointer, number, flag, flag]
    library.llama_detokenize.argtypes = [pointer, pointer, number, pointer, number, flag, flag]
    library.llama_log_set(_SAY, None)
    return library


def _say(level: int, text: bytes, _data: int | None) -> None:
    if level >= ERROR:
        print(text.decode("utf-8", "replace"), end="")


_SAY = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(_say)


class LlamaCpp:
    """The vocabulary of a GGUF file."""

    def __init__(self, path: Path) -> None:
        self.library = _library()
        parameters = self.library.llama_model_default_params()
        assert bytes(parameters.bytes[VOCAB_ONLY : VOCAB_ONLY + 3]) == b"\0\0\1", "another release"
        parameters.bytes[VOCAB_ONLY] = 1
        self.model = self.library.llama_model_load_from_file(bytes(path), parameters)
        if not self.model:
            raise ValueError(f"llama.cpp cannot load {path}")
        self.vocab = self.library.llama_model_get_vocab(self.model)

    def __del__(self) -> None:
        """Give the model back."""
        if getattr(self, "model", None):
            self.library.llama_model_free(self.model)

    def encode(self, text: str, *, ends: bool = False, parse: bool = True) -> list[int]:
        """Return the ids of a text, with the tokens that its ends get if asked for."""
        data = text.encode()
        room = len(data) + 16
        ids = (ctypes.c_int32 * room)()
        count = self.library.llama_tokenize(self.vocab, data, len(data), ids, room, ends, parse)
        assert count >= 0
        return list(ids[:count])

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids, control tokens included."""
        given = (ctypes.c_int32 * len(ids))(*ids)
        room, remove_special, unparse_special = 64, False, True
        while True:
            text = ctypes.create_string_buffer(room)
            count = self.library.llama_detokenize(
                self.vocab, given, len(ids), text, room, remove_special, unparse_special
            )
            if count >= 0:
                return text.raw[:count].decode("utf-8", "replace")
            room = -count
