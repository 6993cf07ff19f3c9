"""protok: exact and fast tokenization for every language-model tokenizer in use.

>>> import protok
>>> tok = protok.load("protok:demo")
>>> tok.decode(tok.encode("Hello, world").ids)
'Hello, world'
"""

from __future__ import annotations

from protok.errors import (
    ArtifactError,
    ArtifactWarning,
    InputError,
    LimitError,
    ProtokError,
    SpecialTokenError,
    TemplateError,
    UnknownIdError,
    VerificationError,
)

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from protok._core import (
        Batch,
        Delta,
        Encoding,
        StopMatcher,
        Stream,
        Utf8Stream,
        __version__,
    )
    from protok.chat import Chat
    from protok.conversion import convert
    from protok.inspection import Inspection
    from protok.spec import Spec
    from protok.tokenizer import Tokenizer, load
    from protok.trace import Trace
    from protok.training import Recipe, train

__all__ = [
    "ArtifactError",
    "ArtifactWarning",
    "Batch",
    "Chat",
    "Delta",
    "Encoding",
    "InputError",
    "Inspection",
    "LimitError",
    "ProtokError",
    "Recipe",
    "Spec",
    "SpecialTokenError",
    "StopMatcher",
    "Stream",
    "TemplateError",
    "Tokenizer",
    "Trace",
    "UnknownIdError",
    "Utf8Stream",
    "VerificationError",
    "__version__",
    "convert",
    "load",
    "train",
]

# Imported on first use: the errors must not need the compiled engine, and a program that only
# catches them should not pay for it.
_LAZY = {
    "Batch": "protok._core",
    "Chat": "protok.chat",
    "Delta": "protok._core",
    "Encoding": "protok._core",
    "Inspection": "protok.inspection",
    "Recipe": "protok.training",
    "Spec": "protok.spec",
    "StopMatcher": "protok._core",
    "Stream": "protok._core",
    "Tokenizer": "protok.tokenizer",
    "Trace": "protok.trace",
    "Utf8Stream": "protok._core",
    "__version__": "protok._core",
    "convert": "protok.conversion",
    "load": "protok.tokenizer",
    "train": "protok.training",
}


def __getattr__(name: str) -> object:
    if name == "chat":  # the module, with what belongs to Chat
        from importlib import import_module  # noqa: PLC0415  (only needed here)

        return import_module("protok.chat")
    if name not in _LAZY:
        raise AttributeError(f"module 'protok' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  (only needed here)

    value: object = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
