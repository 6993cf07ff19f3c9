"""Components and a model as a ``tokenizer.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from protok.errors import InputError

if TYPE_CHECKING:
    from protok.training.recipe import Recipe

__all__ = ["document", "tokenizer_json"]


def document(model: Mapping[str, Any] | None = None, **parts: Any) -> dict[str, Any]:
    """Put a ``tokenizer.json`` together of a model and what it has besides.

    Examples
    --------
    >>> from protok.training.artifact import document
    >>> document(normalizer={"type": "NFC"})["model"]["type"]
    'BPE'
    """
    stages = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        **stages,
        **parts,
        "model": model or {"type": "BPE", "vocab": {}, "merges": []},
    }


def tokenizer_json(recipe: Recipe, model: Mapping[str, Any]) -> bytes:
    """Write the file; special tokens are added tokens, with the model's ids where it has them."""
    vocab = model["vocab"]
    ids: dict[str, int] = (
        dict(vocab)
        if isinstance(vocab, Mapping)
        else {piece[0]: id for id, piece in enumerate(vocab)}
    )
    for token in recipe.last_tokens:
        ids[token] = len(ids)
    special = dict.fromkeys((*recipe.first_tokens, *recipe.last_tokens))
    if recipe.unk_token is not None:
        special[recipe.unk_token] = None
    added = [
        {
            "id": id,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for id, token in sorted((ids[token], token) for token in special)
    ]
    whole = document(
        model,
        added_tokens=added,
        normalizer=recipe.normalizer,
        pre_tokenizer=recipe.pre_tokenizer,
        post_processor=_with_ids(recipe.post_processor, ids),
        decoder=recipe.decoder,
    )
    return json.dumps(whole, ensure_ascii=False, indent=2).encode()


def _with_ids(processor: Any, ids: Mapping[str, int]) -> Any:
    """Fill in the ids of the tokens that a post-processor names."""
    if processor is None:
        return None
    kind = processor.get("type")
    if kind == "Sequence":
        return {**processor, "processors": [_with_ids(p, ids) for p in processor["processors"]]}
    if kind == "TemplateProcessing":
        tokens = {
            name: {**entry, "ids": [_id(token, ids) for token in entry["tokens"]]}
            for name, entry in processor["special_tokens"].items()
        }
        return {**processor, "special_tokens": tokens}
    if kind in {"BertProcessing", "RobertaProcessing"}:
        named = {key: [processor[key][0], _id(processor[key][0], ids)] for key in ("sep", "cls")}
        return {**processor, **named}
    return processor


def _id(token: str, ids: Mapping[str, int]) -> int:
    if token not in ids:
        raise InputError(
            what=f"The post-processor writes {token!r}, which the vocabulary does not have.",
            location="post_processor",
            hint="Add it to special_tokens.",
            value=token,
        )
    return ids[token]
