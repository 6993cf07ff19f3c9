"""The compiled engine: the contract between ``protok`` and its Rust core."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, Self, TypeAlias, TypedDict, final, overload

import numpy as np
import numpy.typing as npt
from _typeshed import structseq
from typing_extensions import disjoint_base

__all__ = [
    "BYTE_ALPHABET",
    "UNICODE_VERSIONS",
    "AddedToken",
    "Batch",
    "Buffer",
    "Contradiction",
    "ControlToken",
    "Delta",
    "Encoding",
    "SpanCounter",
    "StopMatcher",
    "Stream",
    "TokenBytes",
    "Tokenizer",
    "Utf8Stream",
    "Vocab",
    "WordCounter",
    "__version__",
    "boundaries",
    "count_up_to",
    "document_parts",
    "edit",
    "encode_block",
    "encode_trusted",
    "snapshot_key",
    "train_bpe",
    "train_superwords",
    "train_unigram",
    "train_wordpiece",
    "unigram_likelihood",
    "write_snapshot",
]

# Left out, it means "raise" where one text is encoded, and "text" where texts are counted.
SpecialPolicy: TypeAlias = Literal["raise", "text", "parse"] | Iterable[str]
Text: TypeAlias = str | bytes
Words: TypeAlias = Sequence[Text]

class _ArrowColumn(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

Ids: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]] | Encoding
Array: TypeAlias = npt.NDArray[np.uint32]
Span: TypeAlias = tuple[int, int]
Entity: TypeAlias = tuple[int, int, str]
Unit: TypeAlias = Literal["codepoint", "byte", "utf16", "grapheme"]
Of: TypeAlias = Literal["original", "normalized"]
Frame: TypeAlias = tuple[Unit, Of]
Scheme: TypeAlias = Literal["bio", "bilou"]
Truncation: TypeAlias = Literal["right", "left", "error"]
Unknown: TypeAlias = Literal["raise", "skip"]
Reason: TypeAlias = Literal["stop string", "stop id", "end", "incomplete character"]

__version__: str
UNICODE_VERSIONS: dict[str, str]
BYTE_ALPHABET: str

@disjoint_base
class Tokenizer:
    def __new__(
        cls,
        files: Mapping[str, bytes],
        *,
        encoding: str | None = None,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        control_tokens: Sequence[str] | None = None,
        as_loaded_by: Literal["transformers"] | None = None,
        cache_bytes: int = ...,
        snapshot: tuple[bytes, bytes] | None = None,
    ) -> Self: ...
    @overload
    def encode(
        self,
        text: Text,
        pair: Text | None = None,
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy | None = None,
        max_length: int | None = None,
        truncation: Truncation = "right",
        stride: int = 0,
        offsets: bool = False,
        seed: int | None = None,
        is_pretokenized: Literal[False] = False,
    ) -> Encoding: ...
    @overload
    def encode(
        self,
        text: Words,
        pair: Words | None = None,
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy | None = None,
        max_length: int | None = None,
        truncation: Truncation = "right",
        stride: int = 0,
        offsets: bool = False,
        seed: int | None = None,
        is_pretokenized: Literal[True],
    ) -> Encoding: ...
    @overload
    def encode_batch(
        self,
        texts: Iterable[Text | tuple[Text, Text]] | _ArrowColumn,
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy | None = None,
        max_length: int | None = None,
        truncation: Truncation = "right",
        stride: int = 0,
        threads: int | None = None,
        seed: int | None = None,
        is_pretokenized: Literal[False] = False,
    ) -> Batch: ...
    @overload
    def encode_batch(
        self,
        texts: Iterable[Words | tuple[Words, Words]],
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy | None = None,
        max_length: int | None = None,
        truncation: Truncation = "right",
        stride: int = 0,
        threads: int | None = None,
        seed: int | None = None,
        is_pretokenized: Literal[True],
    ) -> Batch: ...
    def sample(
        self,
        text: Text | Words,
        *,
        seed: int,
        alpha: float | None = None,
        dropout: float | None = None,
        add_special_tokens: bool = True,
        special: SpecialPolicy | None = None,
        is_pretokenized: bool = False,
    ) -> Encoding: ...
    def nbest(
        self,
        text: Text,
        k: int,
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy | None = None,
    ) -> list[tuple[Encoding, float]]: ...
    def encode_bytes(
        self,
        data: bytes,
        *,
        add_special_tokens: bool = True,
        special: SpecialPolicy | None = None,
        seed: int | None = None,
    ) -> Encoding: ...
    @overload  # a str is also a sequence of str: the first overload wins
    def count(  # type: ignore[overload-overlap]
        self,
        text: Text,
        *,
        add_special_tokens: bool = False,
        special: SpecialPolicy | None = None,
        threads: int | None = None,
    ) -> int: ...
    @overload
    def count(
        self,
        text: Iterable[Text],
        *,
        add_special_tokens: bool = False,
        special: SpecialPolicy | None = None,
        threads: int | None = None,
    ) -> npt.NDArray[np.int64]: ...
    def decode(
        self,
        ids: Ids,
        *,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict", "reference"] = "replace",
        unknown: Unknown = "raise",
        clean_up_spaces: bool = False,
    ) -> str: ...
    def decode_bytes(
        self, ids: Ids, *, skip_special_tokens: bool = False, unknown: Unknown = "raise"
    ) -> bytes: ...
    def decode_batch(
        self,
        batch: Batch | Iterable[Ids],
        *,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict", "reference"] = "replace",
        unknown: Unknown = "raise",
        clean_up_spaces: bool = False,
        threads: int | None = None,
    ) -> list[str]: ...
    def to_files(self, format: str = "huggingface") -> dict[str, bytes]: ...
    def describe(self) -> str: ...
    def trace_json(
        self, text: Text, *, add_special_tokens: bool = True, special: SpecialPolicy | None = None
    ) -> str: ...
    def differing_paths(
        self,
        texts: Sequence[str],
        *,
        special: SpecialPolicy | None = None,
        threads: int | None = None,
    ) -> list[int]: ...
    def inspect_json(self, *, threads: int | None = None) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def from_snapshot(self) -> bool: ...
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
    def role_tokens(self) -> dict[str, list[str]]: ...
    @property
    def chat_templates(self) -> dict[str, str]: ...
    @property
    def contradictions(self) -> list[Contradiction]: ...
    @property
    def warnings(self) -> list[str]: ...

@final
class Encoding:
    def __len__(self) -> int: ...
    def __getitem__(self, key: int, /) -> int: ...
    def __iter__(self) -> Iterator[int]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def tolist(self) -> list[int]: ...
    @property
    def ids(self) -> Array: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def type_ids(self) -> Array: ...
    @property
    def attention_mask(self) -> Array: ...
    @property
    def special_mask(self) -> Array: ...
    @property
    def sequence_ids(self) -> list[int | None]: ...
    @property
    def word_ids(self) -> list[int | None]: ...
    @property
    def overflow(self) -> list[Encoding]: ...
    @property
    def original(self) -> str: ...
    @property
    def normalized(self) -> str: ...
    @property
    def offsets(self) -> Array: ...
    def words(self, of: Of = "original", *, sequence: int = 0) -> list[str]: ...
    def spans(self, unit: Unit = "codepoint", of: Of = "original") -> Array: ...
    def convert(
        self,
        span: Span,
        *,
        from_: Frame,
        to: Frame,
        partial: Literal["error", "expand"] = "error",
        sequence: int = 0,
        word: int | None = None,
    ) -> Span: ...
    def token_at(
        self,
        position: int,
        unit: Unit = "codepoint",
        of: Of = "original",
        *,
        sequence: int = 0,
        word: int | None = None,
    ) -> int | None: ...
    def word_at(
        self,
        position: int,
        unit: Unit = "codepoint",
        of: Of = "original",
        *,
        sequence: int = 0,
        word: int | None = None,
    ) -> int | None: ...
    def word_tokens(self, word: int, *, sequence: int = 0) -> Span | None: ...
    def text(self, index: int) -> str: ...
    def bytes(self, index: int) -> bytes: ...
    def align(
        self,
        entities: Sequence[Entity],
        *,
        unit: Unit | Literal["word"] = "codepoint",
        scheme: Scheme = "bio",
        sequence: int = 0,
    ) -> tuple[list[str], list[tuple[int, Span, str]]]: ...
    def entities(
        self,
        labels: Sequence[str],
        *,
        unit: Unit | Literal["word"] = "codepoint",
        scheme: Scheme = "bio",
        sequence: int = 0,
    ) -> list[Entity]: ...
    def to_dict(self, unit: Unit = "codepoint", of: Of = "original") -> dict[str, Any]: ...
    @staticmethod
    def from_dict(data: dict[str, Any], tok: Tokenizer) -> Encoding: ...

def encode_trusted(
    tok: Tokenizer, text: Text, trusted: Sequence[Span], control: Sequence[int] = ...
) -> Encoding: ...

@final
class Batch:
    def __len__(self) -> int: ...
    def __getitem__(self, key: int, /) -> Encoding: ...
    def __iter__(self) -> Iterator[Encoding]: ...
    def tolist(self) -> list[list[int]]: ...
    @property
    def values(self) -> Array: ...
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
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...

@final
class Vocab:
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __getitem__(self, key: str, /) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def get(self, token: str) -> int | None: ...
    def token(self, id: int) -> str: ...
    def bytes(self, id: int) -> bytes: ...
    def all_bytes(self) -> TokenBytes: ...
    def to_dict(self) -> dict[str, int]: ...
    @property
    def size(self) -> int: ...

@final
class TokenBytes:
    def __len__(self) -> int: ...
    @property
    def values(self) -> npt.NDArray[np.uint8]: ...
    @property
    def row_offsets(self) -> npt.NDArray[np.int64]: ...

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
class Contradiction:
    option: str
    component: str
    file: str
    transformers: str

@final
class WordCounter:
    # fmt: off
    def __new__(
        cls, tokenizer_json: bytes, *, ordered: bool = True, memory_bytes: int | None = None,
        folder: str | os.PathLike[str] | None = None
    ) -> Self: ...
    def __len__(self) -> int: ...
    def feed(
        self, texts: Iterable[Text], *, threads: int | None = None, weight: float = 1.0,
        seed: int = 0, held_out: float = 0.0, first: int = 0
    ) -> list[tuple[int, str]]: ...
    def feed_block(
        self, data: bytes, *, split: Literal["line", "paragraph", "separator", "whole"] = "line",
        separator: str | None = None, strip: bool = False, threads: int | None = None,
        weight: float = 1.0, seed: int = 0, held_out: float = 0.0, first: int = 0
    ) -> tuple[int, list[tuple[int, str]]]: ...
    # fmt: on
    def add(self, word: Text, count: int) -> None: ...
    def add_file(self, path: str | os.PathLike[str]) -> str: ...
    def finish(self) -> None: ...
    def write(self, path: str | os.PathLike[str], about: str) -> tuple[int, int, str]: ...
    def totals(self) -> tuple[int, int, str]: ...
    def usage(
        self, tokenizer: Tokenizer, *, threads: int | None = None
    ) -> tuple[list[int], int, int, int]: ...
    def items(self) -> list[tuple[bytes, int]]: ...

# left, right, token, count, tied, ties, tokens after: ids but for the counts
MergeRecord: TypeAlias = tuple[int, int, int, int, int, list[Span], int]

class Training(TypedDict):
    tokens: list[str]
    merges: list[MergeRecord]
    required_merges: list[int]
    kept: list[int]
    removals: list[tuple[int, int, list[int]]]  # step, token, parts
    special_tokens: int
    base_size: int
    initial_tokens: int
    stop: Literal["vocab_size", "no_pairs", "min_frequency", "observer"]

# fmt: off
def document_parts(
    data: bytes, *, split: Literal["line", "paragraph", "separator", "whole"] = "line",
    separator: str | None = None, separators: bool = False
) -> list[bytes]: ...
def train_bpe(
    counter: WordCounter, *, vocab_size: int, symbols: Literal["bytes", "characters"] = "bytes",
    tie: str = "lowest-ids", min_frequency: int = 0, special_tokens: Sequence[str] = ...,
    initial_alphabet: str = "", limit_alphabet: int | None = None,
    end_of_word_suffix: str | None = None, separate_end_of_word: bool = False,
    continuing_subword_prefix: str | None = None, max_token_length: int | None = None,
    character_coverage: float | None = None, required: Sequence[str] = ...,
    remove_intermediate: float | None = None, listed_ties: int = 0,
    observer: Callable[[int, int], object] | None = None, every: int = 256
) -> Training: ...
def train_wordpiece(
    counter: WordCounter, *, vocab_size: int, scoring: Literal["counts", "likelihood"] = "counts",
    tie: str = "lowest-ids", min_frequency: int = 0, special_tokens: Sequence[str] = ...,
    initial_alphabet: str = "", limit_alphabet: int | None = None,
    continuing_subword_prefix: str = ..., max_token_length: int | None = None,
    required: Sequence[str] = ..., listed_ties: int = 0,
    observer: Callable[[int, int], object] | None = None, every: int = 256
) -> dict[str, Any]: ...  # Training, with the score in each merge, whose ties may be None
# fmt: on

@final
class SpanCounter:
    # fmt: off
    def __new__(
        cls, tokenizer_json: bytes, tokens: Sequence[str], merges: Sequence[tuple[int, int, int]],
        *, special_tokens: int = 0, symbols: Literal["bytes", "characters"] = "bytes",
        rule: Literal["letters", "any"] = "letters"
    ) -> Self: ...
    # fmt: on
    def __len__(self) -> int: ...
    def feed(self, texts: Iterable[Text], *, threads: int | None = None) -> None: ...

class UnigramTraining(TypedDict):
    pieces: list[tuple[str, float]]
    rounds: list[dict[str, float]]  # size, loss, tokens, left
    special_tokens: int
    characters: int
    unknown: int
    stop: Literal["vocab_size", "no_pieces", "observer"]

# fmt: off
def train_superwords(
    spans: SpanCounter, *, vocab_size: int, tie: str = "lowest-ids", min_frequency: int = 0,
    max_words: int | None = None, listed_ties: int = 0,
    observer: Callable[[int, int], object] | None = None, every: int = 256
) -> Training: ...
def train_unigram(
    counter: WordCounter, *, vocab_size: int, seed_size: int = 1_000_000,
    shrinking_factor: float = 0.75, em_iterations: int = 2, max_piece_length: int = 16,
    character_coverage: float | None = None, special_tokens: Sequence[str] = ...,
    required: Sequence[str] = ..., byte_fallback: bool = False, split_by_whitespace: bool = True,
    split_by_unicode_script: bool = True, split_by_number: bool = True,
    split_digits: bool = False, threads: int | None = None,
    observer: Callable[[int, int], object] | None = None
) -> UnigramTraining: ...
def unigram_likelihood(
    pieces: Sequence[tuple[str, float]], counter: WordCounter, *, threads: int | None = None
) -> dict[str, float]: ...  # marginal, best_path (nats a character), tokens, characters, unknown
# fmt: on

@final
class Delta(structseq[Any], tuple[str, tuple[int, ...], bool, Reason | None]):
    @property
    def text(self) -> str: ...
    @property
    def ids(self) -> tuple[int, ...]: ...
    @property
    def stopped(self) -> bool: ...
    @property
    def reason(self) -> Reason | None: ...
    @property
    def stop(self) -> str | int | None: ...

@final
class Stream:
    def __new__(
        cls,
        tokenizer: Tokenizer,
        *,
        stop: str | Iterable[str] | None = None,
        stop_ids: int | Ids | None = None,
        include_stop: bool = False,
        start_after: str | None = None,
        visible_only: bool = True,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict"] = "replace",
        unknown: Unknown = "raise",
        clean_up_spaces: bool = False,
        after: Ids | None = None,
        max_rollback: int = 32,
    ) -> Self: ...
    def push(self, ids: int | Ids, /) -> Delta: ...
    def finish(self) -> Delta: ...
    def copy(self) -> Stream: ...
    def __copy__(self) -> Stream: ...
    def rollback(self, count: int, /) -> tuple[int, int]: ...
    @property
    def held(self) -> bytes: ...
    @property
    def stopped(self) -> bool: ...
    @property
    def stop_span(self) -> Span | None: ...

@final
class StopMatcher:
    def __new__(
        cls,
        stop: str | Iterable[str],
        *,
        include_stop: bool = False,
        start_after: str | None = None,
    ) -> Self: ...
    def push(self, chunk: Text, /) -> Delta: ...
    def finish(self) -> Delta: ...
    def copy(self) -> StopMatcher: ...
    def __copy__(self) -> StopMatcher: ...
    @property
    def held(self) -> bytes: ...
    @property
    def stop_span(self) -> Span | None: ...

@final
class Utf8Stream:
    def __new__(cls, *, errors: Literal["replace", "strict"] = "replace") -> Self: ...
    def push(self, chunk: bytes, /) -> str: ...
    def finish(self) -> str: ...
    @property
    def held(self) -> bytes: ...

def count_up_to(
    tokenizer: Tokenizer,
    text: Text,
    limit: int,
    *,
    add_special_tokens: bool = False,
    special: SpecialPolicy | None = None,
) -> int: ...
def snapshot_key(
    files: Mapping[str, bytes | str],
    *,
    encoding: str | None = None,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    control_tokens: Sequence[str] | None = None,
    as_loaded_by: Literal["transformers"] | None = None,
) -> bytes: ...
def write_snapshot(tokenizer: Tokenizer, key: bytes) -> bytes: ...
def boundaries(text: Text, kind: str) -> list[int]: ...
def encode_block(
    tok: Tokenizer,
    block: bytes | Sequence[str] | _ArrowColumn,
    *,
    split: str = "line",
    separator: str | None = None,
    first: int = 0,
    add_special_tokens: bool = True,
    special: SpecialPolicy | None = None,
    threads: int | None = None,
) -> Batch: ...
def edit(
    tokenizer: Tokenizer, encoding: Encoding, span: Span, new: Text, unit: str
) -> tuple[Encoding, int]: ...
