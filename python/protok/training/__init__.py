"""Train a tokenizer: a recipe and a corpus become a vocabulary.

The trainers run in the engine; this package reads recipes, feeds the corpus, composes the
components and says what happened.
"""

from protok.training.learners import Merge
from protok.training.presets import PRESETS, preset
from protok.training.recipe import Recipe, TieRule
from protok.training.recipe_file import from_toml, to_toml
from protok.training.run import Training, count_words, run, train

__all__ = [
    "PRESETS",
    "Merge",
    "Recipe",
    "TieRule",
    "Training",
    "count_words",
    "from_toml",
    "preset",
    "run",
    "to_toml",
    "train",
]
