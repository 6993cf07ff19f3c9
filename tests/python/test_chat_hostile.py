"""Templates that mean harm end soon, take little, and are a TemplateError."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import protok
from protok.chat import Limits

TESTS = Path(__file__).resolve().parents[1]
SECONDS, MEGABYTES = 1.0, 200

# Each template in a process of its own would take minutes; one process for all shows which was
# the last one if it does not come back, and memory is the most that any of them took.
PROGRAM = """
import json, resource, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from hostile_templates import HOSTILE
import protok
def most() -> int:
    # What getrusage calls the most counts what the process was forked from.
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) // 1024
tok = protok.load("protok:demo")
hello = [{"role": "user", "content": "hello"}]
tok.chat(hello, template="{{ messages[0].content }}")
for name, template in HOSTILE.items():
    print(json.dumps({"begin": name}), flush=True)
    start = time.process_time()
    try:
        outcome = "rendered: " + tok.chat(hello, template=template).text[:80]
    except protok.TemplateError as error:
        outcome = "refused"
    except BaseException as error:
        outcome = f"{type(error).__name__}: {error}"
    taken = time.process_time() - start
    peak = most()
    print(json.dumps({"name": name, "outcome": outcome, "taken": taken, "peak": peak}), flush=True)
"""


def test_all_of_them() -> None:
    pytest.importorskip("resource")
    from hostile_templates import HOSTILE

    assert len(HOSTILE) >= 30
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(TESTS)],
        check=False,
        capture_output=True,
        text=True,
        timeout=len(HOSTILE) * 5,
    )
    assert result.returncode == 0, (result.stdout[-200:], result.stderr[-2000:])
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    found = {line["name"]: line for line in lines if "name" in line}
    assert found.keys() == HOSTILE.keys()
    for name, line in found.items():
        assert line["outcome"] == "refused", line
        assert line["taken"] < SECONDS, line
        assert line["peak"] < MEGABYTES, name


def test_an_honest_template_is_not_refused(demo: protok.Tokenizer) -> None:
    # A long conversation may cost more: the limits grow with it.
    messages = [
        {"role": "assistant" if turn % 2 else "user", "content": f"turn {turn} " * 40}
        for turn in range(400)
    ]
    template = (
        "{% set ns = namespace(text='') %}{% for m in messages %}"
        "{% set ns.text = ns.text + '<|im_start|>' + m.role + '\\n' + m.content | trim %}"
        "{% endfor %}{{ ns.text }}"
    )
    chat = demo.chat(messages, template=template)
    assert chat.text.count("<|im_start|>") == 400


def test_limits_are_an_argument(demo: protok.Tokenizer) -> None:
    template = "{% for i in range(3000) %}{{ i }}{% endfor %}"
    hello = [{"role": "user", "content": "hello"}]
    assert demo.chat(hello, template=template).text.startswith("012")
    with pytest.raises(protok.TemplateError, match="steps"):
        demo.chat(hello, template=template, limits=Limits(steps=10))
    with pytest.raises(protok.TemplateError, match="characters"):
        demo.chat(hello, template=template, limits=Limits(characters=1000))


def test_an_error_says_which_line_and_which_message(demo: protok.Tokenizer) -> None:
    template = (
        "{% for m in messages %}\n"
        "{% if m.role == 'critic' %}\n"
        "{{ raise_exception('There is no role ' + m.role) }}\n"
        "{% endif %}\n"
        "{{ m.content.missing.more }}{% endfor %}"
    )
    messages = [{"role": "user", "content": "a"}, {"role": "critic", "content": "b"}]
    with pytest.raises(protok.TemplateError) as refused:
        demo.chat(messages, template=template)
    assert refused.value.location == "template, line 5, message 0"
    assert refused.value.position == 0
    with pytest.raises(protok.TemplateError) as refused:
        demo.chat(messages[1:], template=template)
    assert refused.value.location == "template, line 3, message 0"
    assert "There is no role critic" in refused.value.what
    with pytest.raises(protok.TemplateError, match="line 2"):
        demo.chat(messages, template="a\n{% if %}")
