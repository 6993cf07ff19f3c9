"""The Spec as Python values: what a tokenizer's files say about each stage.

The vocabulary and the merges stay in the engine; ``Tokenizer.vocab`` reads them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protok._core import AddedToken

__all__ = ["Component", "Spec"]

# A Sequence lists its parts under the name of its stage.
_PARTS = ("normalizers", "pretokenizers", "processors", "decoders")
# Too large to present.
_BULK = ("vocab", "merges", "scores", "kinds")
LONGEST = 600  # twice the longest public pattern


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a stage: its type, its options, and the parts of a sequence."""

    type: str
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    parts: tuple[Component, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Component:
        """Present a component as ``tokenizer.json`` writes it."""
        parts = tuple(cls.from_json(part) for name in _PARTS if name in data for part in data[name])
        hidden = {"type", *_PARTS, *_BULK}
        options = {name: value for name, value in data.items() if name not in hidden}
        return cls(str(data.get("type", "?")), MappingProxyType(options), parts)

    def __str__(self) -> str:
        if self.parts:
            return " → ".join(str(part) for part in self.parts)
        options = ", ".join(
            f"{name}={_short(value)}"
            for name, value in self.options.items()
            if value is not None and value is not False
        )
        return f"{self.type}({options})" if options else self.type


@dataclass(frozen=True, slots=True)
class Spec:
    """The full declarative description of one tokenizer, stage by stage.

    Examples
    --------
    >>> import protok
    >>> spec = protok.load("protok:demo").spec
    >>> spec.model.type
    'BPE'
    """

    semantics: str
    normalizer: Component | None
    pre_tokenizer: Component | None
    model: Component
    post_processor: Component | None
    decoder: Component | None
    added_tokens: tuple[AddedToken, ...] = field(default=(), repr=False)

    @classmethod
    def from_json(cls, text: str, added_tokens: tuple[AddedToken, ...] = ()) -> Spec:
        """Present the engine's description of a tokenizer."""
        data = json.loads(text)

        def component(name: str) -> Component | None:
            value = data.get(name)
            return None if value is None else Component.from_json(value)

        return cls(
            semantics=data.get("semantics", "hf"),
            normalizer=component("normalizer"),
            pre_tokenizer=component("pre_tokenizer"),
            model=Component.from_json(data["model"]),
            post_processor=component("post_processor"),
            decoder=component("decoder"),
            added_tokens=added_tokens,
        )

    @property
    def stages(self) -> dict[str, Component | None]:
        """The stages in the order in which a text meets them."""
        return {
            "normalizer": self.normalizer,
            "pre_tokenizer": self.pre_tokenizer,
            "model": self.model,
            "post_processor": self.post_processor,
            "decoder": self.decoder,
        }

    def __str__(self) -> str:
        lines = [f"semantics: {self.semantics}"]
        lines += [f"{name}: {stage or 'none'}" for name, stage in self.stages.items()]
        lines.append(f"added_tokens: {len(self.added_tokens)}")
        return "\n".join(lines)


def _short(value: object) -> str:
    """Spell an option; patterns in full, a character map only by its beginning."""
    if isinstance(value, Mapping) and len(value) == 1:
        kind, inner = next(iter(value.items()))
        if isinstance(inner, Mapping) and "id" in inner:  # a part of a template
            return str(inner["id"])
        return f"{kind}({_short(inner)})"  # {"Regex": "\\s+"}
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return "[" + " ".join(_short(item) for item in value) + "]"
    if isinstance(value, (list, Mapping)):
        return f"[{len(value)}]"
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    text = value if len(value) <= LONGEST else value[:39] + "…"
    return f"'{text}'" if text.isprintable() else repr(text)
