"""The compiled engine: the contract between ``protok`` and its Rust core."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

SpecialPolicy: TypeAlias = (
    Literal["raise", "text", "parse"] | Sequence[str] | set[str] | frozenset[str]
)
Ids: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]] | Encoding

__version__: str
UNICODE_VERSIONS: dict[str, str]

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
        special: SpecialPolicy = "raise",
        seed: int | None = None,
    ) -> Encoding: ...
    def encode_batch(
        self,
        texts: Sequence[str | bytes | tuple[str | bytes, str | bytes]],
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy = "raise",
        threads: int | None = None,
        seed: int | None = None,
    ) -> Batch: ...
    def encode_bytes(
        self,
        data: bytes,
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy = "raise",
    ) -> Encoding: ...
    @overload  # a str is also a sequence of str: the first overload wins
    def count(  # type: ignore[overload-overlap]
        self,
        text: str | bytes,
        *,
        add_special_tokens: bool = False,
        special: SpecialPolicy = "text",
        threads: int | None = None,
    ) -> int: ...
    @overload
    def count(
        self,
        text: Sequence[str | bytes],
        *,
        add_special_tokens: bool = False,
        special: SpecialPolicy = "text",
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
    def __getitem__(self, index: int) -> int: ...
    def __iter__(self) -> Iterator[int]: ...
    def tolist(self) -> list[int]: ...
    @property
    def ids(self) -> npt.NDArray[np.uint32]: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def type_ids(self) -> npt.NDArray[np.uint32]: ...
    @property
    def special_mask(self) -> npt.NDArray[np.uint8]: ...
    @property
    def sequence_ids(self) -> list[int | None]: ...

@final
class Batch:
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Encoding: ...
    def __iter__(self) -> Iterator[Encoding]: ...
    def tolist(self) -> list[list[int]]: ...
    @property
    def values(self) -> npt.NDArray[np.uint32]: ...
    @property
    def row_offsets(self) -> npt.NDArray[np.int64]: ...

@final
class Vocab:
    def __len__(self) -> int: ...
    def __contains__(self, token: object) -> bool: ...
    def __getitem__(self, token: str) -> int: ...
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
