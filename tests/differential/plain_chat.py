"""Chat rendering as `transformers` 5 does it, on Jinja alone: what protok's must equal.

Nothing of protok is used here, so that the check of where control tokens stand does not rest on
what it checks.
"""

from __future__ import annotations

import json
from datetime import datetime
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

CLOCK = datetime(2025, 1, 15, 12)  # noqa: DTZ001  (the goldens' clock has no zone)


class _Generation(Extension):
    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> Any:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Any) -> Any:
        return caller()


def _raise(message: str) -> None:
    raise jinja2.exceptions.TemplateError(message)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT002
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,  # noqa: FBT002
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


@lru_cache(maxsize=64)
def compiled(template: str) -> jinja2.Template:
    """Compile a template in the environment that it expects."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = CLOCK.strftime
    return environment.from_string(template)


def render(template: str, variables: dict[str, Any]) -> str:
    """Render; whatever the template raises is raised."""
    messages = []
    for given in variables["messages"]:
        message = {key: value for key, value in given.items() if value is not None}
        names = ("reasoning_content", "thinking", "reasoning")
        thought = next((message[name] for name in names if message.get(name) is not None), None)
        if thought is not None:
            message = {"thinking": thought, **message, "reasoning_content": thought}
        messages.append(message)
    return compiled(template).render({**variables, "messages": messages})
