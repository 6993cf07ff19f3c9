"""Jinja's sandbox with less in it: no attribute but the listed ones, no operation unpaid.

An environment is made once for each set of options; each rendering works on a shallow copy with a
budget of its own, so threads share nothing that changes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateRuntimeError
from jinja2.ext import Extension, loopcontrols
from jinja2.lexer import TokenStream
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, TemplateReference, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Cycler, Joiner, Namespace
from markupsafe import Markup

from protok.chat import filters
from protok.chat.formatting import TemplateFormatter, percent
from protok.chat.generator import Generator
from protok.chat.limits import Budget, Limits, SpentError
from protok.chat.methods import ATTRIBUTES, STRING_METHODS
from protok.chat.provenance import GENERATION, Marked, concat, mark, runs_of

if TYPE_CHECKING:
    from jinja2.parser import Parser

__all__ = ["Environment", "environment"]

MOST_BITS = 1 << 16
MOST_DEPTH = 60
MOST_FORMAT = 1000


class Generation(Extension):
    """The tag ``generation``: what the model is to write."""

    tags = {"generation"}  # noqa: RUF012  (Jinja's interface)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = nodes.Call(nodes.EnvironmentAttribute("generation"), [], [], None, None)
        return nodes.CallBlock(call, [], [], body).set_lineno(line)


class TemplateNamespace(Namespace):
    """A namespace without names that begin with an underscore, and that prints as one word."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        attributes = dict(*args[1:], **kwargs)
        for name in attributes:
            _check_name(name)
        Namespace.__init__(args[0], attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        return "<Namespace>"


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"A name in a namespace begins with an underscore: {name!r}.")


class TemplateDict:
    """The global ``dict``."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """Return a dict with these keys."""
        return dict.fromkeys(*args)


class RefusalError(TemplateRuntimeError):
    """What ``raise_exception`` raises."""


def _raise_exception(message: Any = "") -> None:
    raise RefusalError(str(message))


class Environment(ImmutableSandboxedEnvironment):
    """See the module; ``budget``, ``origins`` and ``clock`` belong to one rendering."""

    code_generator_class = Generator
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "**", "%"})
    budget: Budget
    origins: dict[int, int]
    clock: datetime | None
    told_time: bool
    depth: int
    limits: Limits

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[Generation, loopcontrols],
            optimized=False,
            cache_size=0,
        )
        self.literals: list[Marked] = []
        self.filters = filters.filters()
        tests: dict[str, Any] = filters.tests()
        self.tests = tests
        self.globals = {
            "range": safe_range,
            "cycler": Cycler,
            "joiner": Joiner,
            "namespace": TemplateNamespace,
            "dict": TemplateDict(),
            "raise_exception": _raise_exception,
        }

    def renewed(self, limits: Limits) -> Environment:
        """Return a copy for one rendering, or for compiling one template."""
        fresh = copy.copy(self)
        fresh.limits = limits
        fresh.budget = Budget(limits)
        fresh.turn = fresh.budget.turn
        fresh.literals = []
        fresh.origins = {}
        fresh.clock = None
        fresh.told_time = False
        fresh.depth = 0
        fresh.globals = {**self.globals, "strftime_now": fresh.strftime_now}
        return fresh

    turn: Callable[[int], bool]

    # Compiling.

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        stream = super()._tokenize(source, name, filename, state)

        def counted() -> Iterator[Any]:
            for place, token in enumerate(stream):
                if place > self.limits.tokens:
                    raise SpentError(f"has more than {self.limits.tokens} tokens")
                self.turn(1)
                yield token

        return TokenStream(counted(), name, filename)

    def get_template(self, *_: Any, **__: Any) -> Any:
        """Refuse: a chat template is alone."""
        raise TemplateRuntimeError("A chat template cannot load another template.")

    select_template = get_or_select_template = get_template

    # What generated code calls.

    def show(self, value: Any) -> str:
        """Return a value as text, as ``str`` does, with its runs if it has some."""
        if isinstance(value, str):
            self.budget.turn(1)
            return value
        if isinstance(value, (list, tuple, dict)):
            self.budget.text(2 * self.budget.tree(value))
        elif isinstance(value, int) and value.bit_length() > MOST_BITS:
            raise SpentError(f"prints a number of more than {MOST_BITS} bits")
        text = str(value)
        self.budget.text(len(text))
        return text

    def concat(self, parts: Iterable[str]) -> Marked:
        """Join what was printed."""
        texts = list(parts)
        self.budget.text(sum(map(len, texts)), len(texts))
        return concat(texts)

    def join(self, parts: tuple[Any, ...]) -> str:
        """Evaluate ``a ~ b``."""
        texts = [self.show(part) for part in parts]
        self.budget.text(sum(map(len, texts)), sum(len(runs_of(text)) for text in texts))
        return concat(texts)

    def built(self, value: Any) -> Any:
        """Pay for a list, tuple or dict that the template wrote."""
        self.budget.items(len(value))
        self.budget.tree(value)
        return value

    def paid(self, value: Any) -> Any:
        """Pay for the result of a filter or method."""
        if isinstance(value, str):
            self.budget.text(len(value), len(runs_of(value)))
        elif type(value) in {list, tuple, dict}:
            self.built(value)
        elif isinstance(value, int) and value.bit_length() > MOST_BITS:
            raise SpentError(f"makes a number of more than {MOST_BITS} bits")
        return value

    def cut(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        """Evaluate ``value[start:stop:step]``."""
        if isinstance(value, str):
            self.budget.weigh(value)
        result = value[start:stop:step]
        if isinstance(result, str):
            self.budget.text(len(result), len(runs_of(result)))
        elif hasattr(result, "__len__"):
            self.budget.items(len(result))
        return result

    def generation(self, caller: Callable[[], str]) -> str:
        """Mark what the model is to write."""
        text = caller()
        runs = tuple((length, source | GENERATION, at) for length, source, at in runs_of(text))
        return mark(text, runs)

    def strftime_now(self, format: Any) -> str:
        """Return the time of the call's clock, and remember that the prompt depends on it."""
        if len(format) > MOST_FORMAT:
            raise SpentError(f"formats a time in more than {MOST_FORMAT} characters")
        self.told_time = True
        return (self.clock or datetime.now().astimezone()).strftime(str.__str__(format))

    def call_binop(self, _: Context, operator: str, left: Any, right: Any) -> Any:
        """Evaluate an operator, paid for by what comes out."""
        budget = self.budget
        if isinstance(left, str):
            if operator == "+":
                length = len(left) + (len(right) if isinstance(right, str) else 0)
                budget.text(length, len(runs_of(left)) + 1)
            elif operator == "*" and isinstance(right, int):
                budget.text(len(left) * max(right, 0), len(runs_of(left)) * max(right, 0))
            elif operator == "%":
                budget.weigh(right if not isinstance(right, tuple) else list(right))
                return self.paid(percent(left, right))
        elif isinstance(left, (list, tuple)) or isinstance(right, (list, tuple)):
            self._check_sequence(operator, left, right)
            return self.built(self.binop_table[operator](left, right))
        elif operator == "*" and isinstance(right, str) and isinstance(left, int):
            budget.text(len(right) * max(left, 0), len(runs_of(right)) * max(left, 0))
        elif isinstance(left, int) and isinstance(right, int):
            self._check_number(operator, left, right)
        budget.turn(1)
        return self.binop_table[operator](left, right)

    def _check_sequence(self, operator: str, left: Any, right: Any) -> None:
        if operator == "*":
            times, items = (left, right) if isinstance(left, int) else (right, left)
            if isinstance(times, int) and isinstance(items, (list, tuple)):
                self.budget.items(len(items) * max(times, 0))
        elif operator == "+" and isinstance(left, (list, tuple)):
            self.budget.items(len(left) + (len(right) if isinstance(right, (list, tuple)) else 0))

    def _check_number(self, operator: str, left: int, right: int) -> None:
        bits = 0
        if operator == "*":
            bits = left.bit_length() + right.bit_length()
        elif operator == "**" and right > 0:
            bits = left.bit_length() * min(right, MOST_BITS + 1)
        if bits > MOST_BITS:
            raise SpentError(f"makes a number of more than {MOST_BITS} bits")

    def call(self, context: Context, target: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what a template may call, in a bounded depth."""
        self.turn(2)
        if not self._is_callable(target):
            raise SecurityError(f"{type(target).__name__} cannot be called.")
        if self.depth >= MOST_DEPTH:
            raise SpentError(f"calls itself more than {MOST_DEPTH} deep")
        self.depth += 1
        try:
            result = context.call(target, *args, **kwargs)
        finally:
            self.depth -= 1
        kind = type(result)
        if kind is list or kind is tuple or kind is dict:
            self.built(result)
        elif kind is range:
            self.turn(1)
        return result

    def _is_callable(self, target: Any) -> bool:
        if isinstance(
            target, (Macro, LoopContext, Joiner, TemplateDict, BlockReference, Undefined, Method)
        ):
            return True
        if target in (Cycler, Joiner, TemplateNamespace, safe_range, _raise_exception):
            return True
        owner = getattr(target, "__self__", None)
        return owner is self and target.__name__ in {"generation", "strftime_now"}

    # Attributes and items.

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Evaluate ``obj.attribute``: an attribute, or else an item."""
        if type(obj) is dict:
            if attribute in _DICT_NAMES:
                return self.attribute(obj, attribute)
        elif isinstance(obj, (Undefined, Namespace, TemplateReference)) or hasattr(obj, attribute):
            return self.attribute(obj, attribute)
        try:
            return obj[attribute]
        except (TypeError, LookupError):
            return self.undefined(obj=_plain(obj), name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Evaluate ``obj[argument]``: an item, or else an attribute."""
        try:
            return obj[argument]
        except (TypeError, LookupError):
            if isinstance(argument, str) and hasattr(obj, str.__str__(argument)):
                return self.attribute(obj, argument)
        return self.undefined(obj=_plain(obj), name=argument)

    def attribute(self, obj: Any, name: str) -> Any:  # noqa: PLR0911  (one for each kind)
        """Return an attribute that is listed; another that exists is refused once it is used."""
        name = str.__str__(name)
        if name in self._names(obj):
            return self.method(obj, name)
        if name.startswith("_"):
            return self._unsafe(obj, name)
        if isinstance(obj, Undefined):
            return getattr(obj, name)
        if isinstance(obj, TemplateReference):
            return obj[name]
        if isinstance(obj, Namespace):
            try:
                return getattr(obj, name)
            except AttributeError:
                return self.undefined(obj=obj, name=name)
        return self._unsafe(obj, name)

    def _unsafe(self, obj: Any, name: str) -> Any:
        if isinstance(obj, Undefined) or not hasattr(obj, name):
            return self.undefined(obj=_plain(obj), name=name)
        if name.startswith("_"):
            raise SecurityError(f"access to attribute {name!r} of {_kind(obj)!r} object is unsafe.")
        return self.undefined(
            f"access to attribute {name!r} of {_kind(obj)!r} object is unsafe.",
            name=name,
            obj=_plain(obj),
            exc=SecurityError,
        )

    def method(self, obj: Any, name: str) -> Any:
        """Return a listed attribute, bound."""
        if isinstance(obj, str):
            return Method(self, name, obj)
        value = getattr(obj, name)
        return Method(self, name, obj) if callable(value) else value

    @staticmethod
    def _names(obj: Any) -> frozenset[str]:
        if isinstance(obj, str):
            return _STRING_NAMES
        return ATTRIBUTES.get(type(obj), _NOTHING)


_NOTHING: frozenset[str] = frozenset()
_STRING_NAMES = frozenset(STRING_METHODS)
_DICT_NAMES = frozenset(dir(dict))


def _plain(obj: Any) -> Any:
    """Return a value as errors name it."""
    return str.__str__(obj) if isinstance(obj, Marked) else obj


def _kind(obj: Any) -> str:
    return "str" if isinstance(obj, Marked) else type(obj).__name__


class Method:
    """A method of a value, as a template may call it."""

    __slots__ = ("_environment", "_name", "_owner")

    def __init__(self, environment: Environment, name: str, owner: Any) -> None:
        self._environment = environment
        self._name = name
        self._owner = owner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        environment, owner = self._environment, self._owner
        if not isinstance(owner, str):
            result = getattr(owner, self._name)(*args, **kwargs)
            return result if isinstance(owner, dict) else environment.paid(result)
        if self._name in {"format", "format_map"}:
            return self._format(args, kwargs)
        environment.budget.turn(len(runs_of(owner)) // 4)
        price = STRING_METHODS[self._name]
        price(environment.budget, owner, *args, **kwargs)
        text = owner if isinstance(owner, Markup) else mark(owner, runs_of(owner))
        result = getattr(text, self._name)(*args, **kwargs)
        if isinstance(result, list):
            environment.budget.items(12 * len(result))
            return result
        return environment.paid(result)

    def _format(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._name == "format_map":
            if kwargs or len(args) != 1:
                raise TypeError("format_map() takes exactly one argument")
            (kwargs,), args = args, ()
        formatter = TemplateFormatter(self._environment)
        return self._environment.paid(formatter.run(self._owner, args, kwargs))


_SHARED: list[Environment] = []


def environment() -> Environment:
    """Return the environment that all templates are compiled in."""
    if not _SHARED:
        _SHARED.append(Environment())
    return _SHARED[0]


if tuple(int(part) for part in jinja2.__version__.split(".")[:3]) < (3, 1, 6):
    raise ImportError("Jinja2 before 3.1.6 has known ways out of its sandbox.")
