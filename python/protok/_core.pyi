"""The compiled engine: the contract between ``protok`` and its Rust core."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

SpecialPolicy: TypeAlias = Literal["raise", "text", "parse"] | Iterable[str]
Unit: TypeAlias = Literal["byte", "codepoint", "utf16", "grapheme"]
Of: TypeAlias = Literal["original", "normalized"]
Scheme: TypeAlias = Literal["bio", "bilou"]
Side: TypeAlias = Literal["right", "left", "error"]
TieRule: TypeAlias = Literal[
    "lowest-ids", "lexicographic-first", "lexicographic-last", "first-seen"
]
Ids: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]] | Encoding

__version__: str
UNICODE_VERSIONS: dict[str, str]
BYTE_ALPHABET: str

class Tokenizer:
    def __new__(
        cls,
        files: Mapping[str, bytes],
        *,
        encoding: str | None = None,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        control_tokens: Sequence[str] | None = None,
        cache_bytes: int = ...,
    ) -> Self: ...
    def encode(
        self,
        text: str | bytes,
        pair: str | bytes | None = None,
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy | None = None,  # raise
        max_length: int | None = None,
        truncation: Side = "right",
        stride: int = 0,
        offsets: bool = False,
        seed: int | None = None,
    ) -> Encoding: ...
    def encode_batch(
        self,
        texts: Sequence[str | bytes | tuple[str | bytes, str | bytes]],
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy | None = None,  # raise
        max_length: int | None = None,
        truncation: Side = "right",
        stride: int = 0,
        threads: int | None = None,
        seed: int | None = None,
    ) -> Batch: ...
    def encode_bytes(
        self,
        data: bytes,
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy | None = None,  # raise
        seed: int | None = None,
    ) -> Encoding: ...
    @overload  # a str is also a sequence of str: the first overload wins
    def count(  # type: ignore[overload-overlap]
        self,
        text: str | bytes,
        *,
        add_special_tokens: bool = False,
        special: SpecialPolicy | None = None,  # text
        threads: int | None = None,
    ) -> int: ...
    @overload
    def count(
        self,
        text: Sequence[str | bytes],
        *,
        add_special_tokens: bool = False,
        special: SpecialPolicy | None = None,  # text
        threads: int | None = None,
    ) -> npt.NDArray[np.int64]: ...
    def decode(
        self,
        ids: Ids,
        *,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict", "reference"] = "replace",
        unknown: Literal["raise", "skip"] = "raise",
    ) -> str: ...
    def decode_bytes(
        self,
        ids: Ids,
        *,
        skip_special_tokens: bool = False,
        unknown: Literal["raise", "skip"] = "raise",
    ) -> bytes: ...
    def decode_batch(
        self,
        batch: Batch | Sequence[Ids],
        *,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict", "reference"] = "replace",
        unknown: Literal["raise", "skip"] = "raise",
        threads: int | None = None,
    ) -> list[str]: ...
    def to_files(self, format: str = "huggingface") -> dict[str, bytes]: ...
    def describe(self) -> str: ...
    def trace_json(
        self,
        text: str | bytes,
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy | None = None,  # raise
    ) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def vocab(self) -> Vocab: ...
    @property
    def added_tokens(self) -> list[AddedToken]: ...
    @property
    def special_tokens(self) -> dict[str, int]: ...
    @property
    def control_tokens(self) -> list[ControlToken]: ...
    @property
    def roles(self) -> dict[str, str]: ...
    @property
    def warnings(self) -> list[str]: ...

@final
class Encoding:
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> int: ...
    def __iter__(self) -> Iterator[int]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...  # from CPython 3.12 on
    def tolist(self) -> list[int]: ...
    @property
    def ids(self) -> npt.NDArray[np.uint32]: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def original(self) -> str: ...
    @property
    def normalized(self) -> str: ...
    @property
    def offsets(self) -> npt.NDArray[np.uint32]: ...
    @property
    def type_ids(self) -> npt.NDArray[np.uint32]: ...
    @property
    def attention_mask(self) -> npt.NDArray[np.uint32]: ...
    @property
    def special_mask(self) -> npt.NDArray[np.uint32]: ...
    @property
    def sequence_ids(self) -> list[int | None]: ...
    @property
    def word_ids(self) -> list[int | None]: ...
    @property
    def overflow(self) -> list[Encoding]: ...
    def spans(self, unit: Unit = "codepoint", of: Of = "original") -> npt.NDArray[np.uint32]: ...
    def convert(
        self,
        span: tuple[int, int],
        *,
        from_: tuple[Unit, Of],
        to: tuple[Unit, Of],
        partial: Literal["error", "expand"] = "error",
        sequence: int = 0,
    ) -> tuple[int, int]: ...
    def token_at(
        self, position: int, unit: Unit = "codepoint", of: Of = "original", *, sequence: int = 0
    ) -> int | None: ...
    def word_at(
        self, position: int, unit: Unit = "codepoint", of: Of = "original", *, sequence: int = 0
    ) -> int | None: ...
    def word_tokens(self, word: int, *, sequence: int = 0) -> tuple[int, int] | None: ...
    def text(self, index: int) -> str: ...
    def bytes(self, index: int) -> bytes: ...
    def align(
        self,
        entities: Sequence[tuple[int, int, str]],
        *,
        unit: Unit = "codepoint",
        scheme: Scheme = "bio",
        sequence: int = 0,
    ) -> tuple[list[str], list[tuple[int, tuple[int, int], str]]]: ...
    def entities(
        self,
        labels: Sequence[str],
        *,
        unit: Unit = "codepoint",
        scheme: Scheme = "bio",
        sequence: int = 0,
    ) -> list[tuple[int, int, str]]: ...
    def to_dict(self, unit: Unit = "codepoint", of: Of = "original") -> dict[str, Any]: ...
    @staticmethod
    def from_dict(data: dict[str, Any], tok: Tokenizer) -> Encoding: ...

@final
class Batch:
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Encoding: ...
    def __iter__(self) -> Iterator[Encoding]: ...
    def tolist(self) -> list[list[int]]: ...
    @property
    def values(self) -> npt.NDArray[np.uint32]: ...
    @property
    def row_offsets(self) -> npt.NDArray[np.int64]: ...
    def pad(
        self,
        to: int | Literal["longest"] | None = None,
        *,
        multiple_of: int = 1,
        side: Literal["right", "left"] = "right",
        pad_id: int | None = None,
        pad_type_id: int = 0,
    ) -> dict[str, npt.NDArray[np.int64]]: ...

@final
class Buffer:
    """Numbers that NumPy reads without copying."""

    def __buffer__(self, flags: int, /) -> memoryview: ...  # from CPython 3.12 on

@final
class Vocab:
    def __len__(self) -> int: ...
    def __contains__(self, token: object, /) -> bool: ...
    def __getitem__(self, token: str, /) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def get(self, token: str) -> int | None: ...
    def token(self, id: int) -> str: ...
    def bytes(self, id: int) -> bytes: ...
    def to_dict(self) -> dict[str, int]: ...
    @property
    def size(self) -> int: ...

@final
class AddedToken:
    id: int
    content: str
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool
    special: bool

@final
class ControlToken:
    id: int
    content: str
    reason: str

@final
class WordCounter:
    def __new__(cls, tokenizer_json: bytes) -> Self: ...
    def feed(self, texts: Iterable[str | bytes], *, threads: int | None = None) -> None: ...
    def add(self, word: str | bytes, count: int) -> None: ...
    def __len__(self) -> int: ...
    def items(self) -> list[tuple[bytes, int]]: ...

def train_bpe(
    counter: WordCounter,
    *,
    vocab_size: int,
    symbols: Literal["bytes", "characters"] = "bytes",
    tie: TieRule = "lowest-ids",
    min_frequency: int = 0,
    special_tokens: Sequence[str] = ...,
    initial_alphabet: str = "",
    limit_alphabet: int | None = None,
    end_of_word_suffix: str | None = None,
    separate_end_of_word: bool = False,
    continuing_subword_prefix: str | None = None,
    max_token_length: int | None = None,
    listed_ties: int = 0,
    observer: Callable[[int, int], None] | None = None,
    every: int = 256,
) -> dict[str, Any]: ...
