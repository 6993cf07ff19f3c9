"""Counting, cutting, and encoding again what changed."""

from __future__ import annotations

from protok.budget.conversation import TruncatedChat
from protok.budget.cut import Piece, Truncated
from protok.budget.methods import Budgeting

__all__ = ["Budgeting", "Piece", "Truncated", "TruncatedChat"]
