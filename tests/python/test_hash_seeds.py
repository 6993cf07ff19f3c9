"""No hash seed, and no order of a set, changes a result."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import hashlib, json, protok
names = ("<z>", "<a>", "<m>")
recipe = protok.Recipe(vocab_size=300, special_tokens=names, fewer="accept")
tok = protok.train(recipe, {word: 3 for word in {"low", "lower", "newest", "widest", "wider"}})
tok = protok.load(tok.to_files()["tokenizer.json"], control_tokens=sorted(names))
named = tok.encode("a<m>b<z><a>", special=set(names)).tolist()
saved = hashlib.sha256(tok.to_files()["tokenizer.json"]).hexdigest()
print(json.dumps([tok.special_tokens, named, tok.fingerprint, saved, list(tok.vocab)[:9]]))
"""
PROCESSES = 20


def test_case_A10() -> None:
    """Special tokens have the same ids in every process, in the order in which they are given."""
    found = set()
    for seed in range(PROCESSES):
        result = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )
        found.add(result.stdout)
    assert len(found) == 1
    (first,) = found
    assert first.startswith('[{"<z>": 0, "<a>": 1, "<m>": 2}, ')
