"""Chat: templates, and control tokens that cannot be forged.

:meth:`protok.Tokenizer.chat` is the way in. What it returns is a :class:`Chat`.

>>> import protok
>>> tok = protok.load("protok:demo")
>>> hello = [{"role": "user", "content": "Hello"}]
>>> tok.chat(hello, template="{{ messages[0]['content'] }}").text
'Hello'
"""

from __future__ import annotations

from protok.chat.conversation import Trust
from protok.chat.inputs import Field
from protok.chat.limits import Limits
from protok.chat.result import Chat, Finding, Piece

__all__ = ["Chat", "Field", "Finding", "Limits", "Piece", "Trust"]
