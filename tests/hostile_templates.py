"""Templates that mean harm: each must end within a second and 200 MB with a TemplateError."""

from __future__ import annotations

DEEP = 3000

HOSTILE: dict[str, str] = {
    # Constants that grow while compiling.
    "a huge constant": "{{ 'a' * 300000000 }}",
    "a huge constant, the other way round": "{{ 300000000 * 'a' }}",
    "a huge constant in a condition": "{% if 'a' * 300000000 == 'b' %}x{% endif %}",
    "a huge list": "{{ [0] * 300000000 }}",
    "a huge tuple": "{{ (0, 1) * 300000000 }}",
    "a constant widened by a filter": "{{ 'a' | center(300000000) }}",
    "a constant in a block of options": (
        "{% autoescape 'a' | center(300000000) %}x{% endautoescape %}"
    ),
    "a constant in a default": "{% macro m(x='a' * 300000000) %}{{ x }}{% endmacro %}{{ m() }}",
    "a power": "{{ 9 ** (9 ** 9) }}",
    "a power of a power": "{{ (2 ** 60000) * (2 ** 60000) }}",
    # Loops.
    "loops in loops": (
        "{% for i in range(99999) %}{% for j in range(99999) %}{% for k in range(99999) %}"
        "{{ k }}{% endfor %}{% endfor %}{% endfor %}"
    ),
    "loops that only filter": (
        "{% for i in range(99999) %}{% for j in range(99999) if j < 0 %}{% endfor %}{% endfor %}"
    ),
    "a range beyond all bounds": "{% for i in range(1000000000) %}{{ i }}{% endfor %}",
    "a loop with a long body": (
        "{% for i in range(99999) %}" + "{% set x = 1 %}" * 1000 + "{% endfor %}"
    ),
    "a loop without an end": (
        "{% set ns = namespace(n=0) %}{% for i in range(99999) %}{% for j in range(99999) %}"
        "{% set ns.n = ns.n + 1 %}{% endfor %}{% endfor %}"
    ),
    "a macro in loops": (
        "{% macro m() %}{% for i in range(1000) %}{% endfor %}{% endmacro %}"
        "{% for i in range(99999) %}{{ m() }}{% endfor %}"
    ),
    # Text that doubles.
    "doubling by addition": (
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(64) %}"
        "{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s }}"
    ),
    "doubling by concatenation": (
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(64) %}"
        "{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}"
    ),
    "doubling by replacement": (
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(64) %}"
        "{% set ns.s = ns.s.replace('a', 'aaaaaaaa') %}{% endfor %}{{ ns.s }}"
    ),
    "doubling by a replacing filter": (
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(64) %}"
        "{% set ns.s = ns.s | replace('', 'aaaaaaaa') %}{% endfor %}{{ ns.s }}"
    ),
    "doubling by joining": (
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(64) %}"
        "{% set ns.s = ns.s.join([ns.s, ns.s, ns.s]) %}{% endfor %}{{ ns.s }}"
    ),
    "doubling by a joining filter": (
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(64) %}"
        "{% set ns.s = [ns.s, ns.s] | join(ns.s) %}{% endfor %}{{ ns.s }}"
    ),
    "doubling by blocks": (
        "{% set a %}aaaaaaaaaaaaaaaa{% endset %}"
        + "{% set a %}{{ a }}{{ a }}{{ a }}{{ a }}{% endset %}" * 20
        + "{{ a }}"
    ),
    "doubling by printing": (
        "{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{{ m(n - 1) }}{% else %}aaaaaaaa{% endif %}"
        "{% endmacro %}{{ m(40) }}"
    ),
    "doubling by formatting": (
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(64) %}"
        "{% set ns.s = '%s%s%s' % (ns.s, ns.s, ns.s) %}{% endfor %}{{ ns.s }}"
    ),
    "doubling by format": (
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(64) %}"
        "{% set ns.s = '{0}{0}{0}'.format(ns.s) %}{% endfor %}{{ ns.s }}"
    ),
    # Lists that double, which print, compare and hash without an end.
    "doubling lists": (
        "{% set ns = namespace(s=[1, 2, 3]) %}{% for i in range(64) %}"
        "{% set ns.s = ns.s + ns.s %}{% endfor %}"
    ),
    "nested lists printed": (
        "{% set ns = namespace(s=[1]) %}{% for i in range(64) %}"
        "{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}"
    ),
    "nested lists compared": (
        "{% set a = namespace(s=[1]) %}{% set b = namespace(s=[1]) %}{% for i in range(64) %}"
        "{% set a.s = [a.s, a.s] %}{% set b.s = [b.s, b.s] %}{% endfor %}{{ a.s == b.s }}"
    ),
    "nested tuples hashed": (
        "{% set a = namespace(s=(1,)) %}{% for i in range(64) %}"
        "{% set a.s = (a.s, a.s) %}{% endfor %}{{ {a.s: 1} }}"
    ),
    "nested dicts as JSON": (
        "{% set a = namespace(s={'a': 1}) %}{% for i in range(64) %}"
        "{% set a.s = {'a': a.s, 'b': a.s} %}{% endfor %}{{ a.s | tojson }}"
    ),
    "lists summed": "{{ [[0] * 9999] * 9999 | sum(start=[]) }}",
    "lists batched": "{{ 'ab' | batch(1000000000, 'x') | list }}",
    "lists sliced": "{{ 'ab' | slice(1000000000) | list }}",
    # Numbers that are sizes.
    "a width in a filter": "{{ messages[0].content | center(1000000000) }}",
    "a width in a method": "{{ messages[0].content.ljust(1000000000) }}",
    "zeros": "{{ '1'.zfill(1000000000) }}",
    "tabs": "{{ ('\t' * 1000).expandtabs(1000000) }}",
    "a width in a format": "{{ '%1000000000d' % 1 }}",
    "a width from a value": "{{ '%*d' % (1000000000, 1) }}",
    "a precision in a format": "{{ '%.1000000000f' % 1.5 }}",
    "a width in a format string": "{{ '{:1000000000}'.format(1) }}",
    "a width from a field": "{{ '{:{w}}'.format(1, w=1000000000) }}",
    "an indent": "{{ 'a\nb' | indent(1000000000) }}",
    "an indent by a text": "{{ ('a\n' * 10000) | indent('b' * 100000) }}",
    "an indent of JSON": "{{ [1, 2] | tojson(indent=1000000000) }}",
    "a separator of JSON": "{{ messages | tojson(separators=('a' * 1000000, 'b' * 1000000)) }}",
    "digits of a number": "{{ 2.5 | round(1000000000, 'floor') }}",
    "digits before the point": "{{ 25 | round(-1000000000) }}",
    "a number of many digits": "{{ ('9' * 100000) | int * 1.5 ~ (1 / 0) }}",
    "words wrapped": "{{ ('a ' * 100000) | wordwrap(1) }}",
    # Depth.
    "a macro that calls itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "two macros that call each other": (
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}"
    ),
    "a loop that calls itself": ("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
    "a call that calls itself": (
        "{% macro m() %}{% call m() %}x{% endcall %}{% endmacro %}{{ m() }}"
    ),
    "parentheses": "{{ " + "(" * DEEP + "1" + ")" * DEEP + " }}",
    "lists in lists": "{{ " + "[" * DEEP + "]" * DEEP + " }}",
    "conditions in conditions": "{% if 1 %}" * DEEP + "{% endif %}" * DEEP,
    "a long sum": "{{ " + "1 + " * DEEP + "1 }}",
    "a long chain of filters": "{{ 1 " + "| string " * DEEP + "}}",
    "nots": "{{ " + "not " * DEEP + "1 }}",
    # Size.
    "a long template": "{{ 1 }}" * 100_000,
    "a template of many names": "".join(f"{{% set a{i} = 1 %}}" for i in range(30_000)),
    "a long text": "{{ 1 }}" + "x" * (1 << 19),
    # Attributes and modules.
    "attributes of a text": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "attributes through a filter": "{{ '' | attr('__class__') | attr('__mro__') }}",
    "attributes by item": "{{ ''['__class__']['__mro__'] }}",
    "attributes by map": "{{ [''] | map(attribute='__class__.__mro__') | list }}",
    "attributes in a format": "{{ '{0.__class__.__mro__}'.format('') }}",
    "attributes in a format map": "{{ '{a.__class__.__mro__}'.format_map({'a': ''}) }}",
    "globals of a function": "{{ raise_exception.__globals__['os'] }}",
    "globals of a cycler": "{{ cycler.__init__.__globals__.os }}",
    "globals of a namespace": "{{ namespace.__init__.__globals__ }}",
    "globals of a joiner": "{{ joiner.__init__.__globals__ }}",
    "the environment of a macro": "{% macro m() %}{% endmacro %}{{ m._environment.globals }}",
    "the code of a macro": "{% macro m() %}{% endmacro %}{{ m._func.__code__ }}",
    "the runs of a text": "{{ messages[0].content._runs[0] }}",
    "the context of a template": "{{ self._TemplateReference__context.environment }}",
    "bytes": "{{ (1).to_bytes(1000000000, 'big') }}",
    "an encoding": "{{ messages[0].content.encode('utf-8').decode.__self__ }}",
    "changing the messages": "{{ messages.append(1) }}",
    "changing a message": "{{ messages[0].update({'role': 'system'}) }}",
    "another template": "{% include 'x' %}",
    "another template, extended": "{% extends 'x' %}",
    "another template, imported": "{% import 'x' as x %}{{ x }}",
    "an undefined function": "{{ open('x') }}",
    "a generator's frame": "{{ (messages | map('upper')).gi_frame.f_globals }}",
    # Errors of its own.
    "a refusal": "{{ raise_exception('no') }}",
    "a division": "{{ 1 / 0 }}",
    "a malformed tag": "{% if %}",
    "an unknown filter": "{{ 1 | nothing }}",
    "an unknown tag": "{% nothing %}",
    "a filter left out": "{{ [1, 2] | random }}",
}
