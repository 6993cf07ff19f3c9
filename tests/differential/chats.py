"""Random conversations through every template: no control token lies on what a message says.

Every string is made of control strings, halves of them, template delimiters, look-alikes and
ordinary text. For each pair of template and conversation three things are checked.

(a) The text is the one of a plain Jinja environment, and every control token lies on text of the
    template. What that is, a second plain rendering says, in which each field is replaced,
    character by character, by private-use characters. Where the two renderings differ in more
    (the template decided by a field's text), the pair is not checked, and counted.
(b) Decoding the ids gives the text, up to what the artifact's normalizer loses.
(c) Where a plain encoding with special="parse" has control tokens on template text only, the ids
    are the same.

    python tests/differential/chats.py --conversations 20000 [--seed 0] [--only NAME]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from differential import plain_chat

import protok

if TYPE_CHECKING:
    from protok._core import Encoding

HIDDEN = "\ue000"
# Characters that a hidden text keeps: templates trim them, JSON escapes them.
KEPT = set(' \t\n\r"\\')
ROLES = ("system", "user", "assistant", "tool")
VALUES = {*ROLES, "text", "function", "object", "string"}


@dataclass(frozen=True)
class Pair:
    """A template and the artifact that it is rendered for."""

    name: str
    artifact: str
    template: str | None  # a file, or None for the artifact's own
    losing: str = "nothing"  # what decoding loses: nothing, composition, blanks, much


def own(artifact: str, losing: str = "nothing") -> Pair:
    return Pair(artifact, artifact, None, losing)


def of(template: str, artifact: str, losing: str = "nothing") -> Pair:
    return Pair(f"{template} on {artifact}", artifact, f"chat-templates/{template}.jinja", losing)


PHI = "gguf/ggml-vocab-phi-3.gguf"
TEKKEN = "mistral-tekken"
PAIRS = [
    own("qwen3", "composition"),
    own("llama3.1"),
    Pair("llama3.1 with tools", "llama3.1", "llama3.1/chat_template_tools.jinja"),
    own("gemma3"),
    own("deepseek-v3"),
    own("gpt-oss"),
    of("lc_CohereForAI-c4ai-command-r-plus-tool_use", "llama3.1"),
    of("lc_CohereForAI-c4ai-command-r7b-12-2024-tool_use", "gpt-oss"),
    of("lc_NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "qwen3", "composition"),
    of("lc_Qwen-Qwen2.5-7B-Instruct", "qwen3", "composition"),
    of("lc_deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek-v3"),
    of("lc_meetkai-functionary-medium-v3.1", "llama3.1"),
    of("lc_meetkai-functionary-medium-v3.2", "llama3.1"),
    of("lc_mistralai-Mistral-Nemo-Instruct-2407", TEKKEN),
    of("lc_mistralai-Mistral-Nemo-Instruct-2407", "t5-base", "much"),
    of("trl_cohere2", "llama3.1"),
    of("trl_deepseekv3", "deepseek-v3"),
    of("trl_gemma", "gemma3"),
    of("trl_gemma3", "gemma3"),
    of("trl_glm4moe", "qwen3", "composition"),
    of("trl_gptoss", "gpt-oss"),
    of("trl_lfm2_2_5", "qwen3", "composition"),
    of("trl_llama3_1", "llama3.1"),
    of("trl_llama3_2", "llama3.1"),
    of("trl_llama3_training", "llama3.1"),
    of("trl_nemotron_3_nano", "qwen3", "composition"),
    of("trl_phi3_5", PHI, "blanks"),
    of("trl_qwen3", "qwen3", "composition"),
    of("trl_qwen3_5_think", "qwen3", "composition"),
    of("trl_qwen3_instruct_2507", "qwen3", "composition"),
    of("trl_qwen3_training", "qwen3", "composition"),
    Pair("a template of its own on albert", "albert", "", "much"),
]
# Halves around every field, and every operation that could lose or fake a mark.
OWN_TEMPLATE = (
    "[CLS]{% for m in messages %}[SEP]{{ m.role }}{{ m['content'] | string | trim }}"
    "[{{ m.role ~ '' }}]{% set x %}{{ m.content }}{% endset %}{{ x | replace('zz', '[SEP]') }}"
    "{{ '<' ~ m.content ~ '>' }}{{ '{}[MASK]{}'.format(m.content, '[SEP]') }}"
    "{{ '%s[SEP]' % m.content | upper }}{{ ['[', m.role, ']'] | join }}{% endfor %}"
    "{{ tools | tojson }}{{ messages | tojson }}"
)


class Maker:
    """Makes strings and conversations that try to forge."""

    def __init__(self, tok: protok.Tokenizer, template: str) -> None:
        control = [token.content for token in tok.control_tokens][:60]
        added = [token.content for token in tok.added_tokens if not token.special][:20]
        written = [text for text in [*control, *added] if text in template]
        self.names = [name for name in [*control, *added, *written * 4] if len(name) > 1]
        self.marks = ["{{", "}}", "{%", "%}", "{#", "[INST]", "<|", "|>", "</", ">", "<", "|", "]"]
        self.words = [
            "a",
            "hello",
            "naïve",
            "你好",
            "🐈",
            " ",
            "\n",
            "e\u0301",
            "42",
            '"',
            "\\",
            "x",
        ]

    def text(self, rng: random.Random, most: int = 4) -> str:
        parts = []
        for _ in range(rng.randint(0, most)):
            kind = rng.random()
            if kind < 0.25 and self.names:
                parts.append(rng.choice(self.names))
            elif kind < 0.45 and self.names:
                name = rng.choice(self.names)
                cut = rng.randint(1, len(name) - 1)
                parts.append(name[:cut] if rng.random() < 0.5 else name[cut:])
            elif kind < 0.5 and self.names:
                parts.append(wide(rng.choice(self.names)))
            elif kind < 0.6:
                parts.append(rng.choice(self.marks))
            else:
                parts.append(rng.choice(self.words))
        return "".join(parts)

    def conversation(self, rng: random.Random) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        if rng.random() < 0.3:
            messages.append({"role": "system", "content": self.text(rng)})
        for turn in range(rng.randint(1, 4)):
            role = "assistant" if turn % 2 else "user"
            if rng.random() < 0.04:
                role = self.text(rng) or "x"
            message: dict[str, Any] = {"role": role, "content": self.text(rng)}
            if rng.random() < 0.05:
                message["content"] = [{"type": "text", "text": self.text(rng)} for _ in range(2)]
            if rng.random() < 0.1:
                message["name"] = self.text(rng)
            if rng.random() < 0.1:
                message["reasoning_content"] = self.text(rng)
            messages.append(message)
            if role == "assistant" and rng.random() < 0.25:
                message["tool_calls"] = [self.call(rng)]
                message["content"] = ""
                messages.append({"role": "tool", "content": self.text(rng), "name": self.text(rng)})
        variables: dict[str, Any] = {
            "messages": messages,
            "tools": [self.tool(rng)] if rng.random() < 0.2 else None,
            "documents": None,
            "add_generation_prompt": rng.random() < 0.7,
        }
        return variables

    def call(self, rng: random.Random) -> dict[str, Any]:
        arguments = {self.text(rng): self.text(rng) for _ in range(rng.randint(0, 2))}
        function = {"name": self.text(rng), "arguments": arguments}
        return {"id": self.text(rng), "type": "function", "function": function}

    def tool(self, rng: random.Random) -> dict[str, Any]:
        properties = {
            self.text(rng): {"type": "string", "description": self.text(rng)} for _ in range(2)
        }
        parameters = {"type": "object", "properties": properties, "required": [self.text(rng)]}
        function = {"name": self.text(rng), "description": self.text(rng), "parameters": parameters}
        return {"type": "function", "function": function}


def wide(text: str) -> str:
    """Return the look-alike that NFKC makes the same."""
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def hidden(value: Any, key: str = "") -> Any:
    """Replace every string but the words that templates decide by."""
    if isinstance(value, str):
        if key in {"role", "type"} and value in VALUES:
            return value
        return "".join(c if c in KEPT else HIDDEN for c in value)
    if isinstance(value, dict):
        # Keys of messages and schemas are words of the protocol; keys that somebody chose are not.
        chosen = key in {"arguments", "properties"}
        return {
            (hidden(name) if chosen else name): hidden(child, "" if chosen else name)
            for name, child in value.items()
        }
    if isinstance(value, list):
        return [hidden(child) for child in value]
    return value


@dataclass
class Tally:
    """What became of the pairs."""

    counts: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        rendered = self.counts["rendered"]
        return self.counts["checked"] / rendered if rendered else 1.0

    def __str__(self) -> str:
        kinds = ("rendered", "refused", "checked", "control", "defused", "ordinary")
        return "  ".join(f"{kind} {self.counts[kind]}" for kind in kinds)


class Checker:
    """Checks conversations with one pair of template and artifact."""

    def __init__(self, pair: Pair, shared: Path) -> None:
        artifacts = shared / "artifacts"
        source = artifacts / pair.artifact
        if pair.artifact == TEKKEN:
            source /= "tekken_240718.json"
        warnings.simplefilter("ignore", protok.ArtifactWarning)
        self.pair = pair
        self.tok = protok.load(source)
        if pair.template is None:
            self.template = self.tok.chat_templates["default"]
            self.passed: str | None = None
        else:
            path = artifacts / pair.template
            self.template = path.read_text("utf-8") if pair.template else OWN_TEMPLATE
            self.passed = self.template
        self.maker = Maker(self.tok, self.template)
        roles = self.tok.roles
        self.special = {f"{role}_token": token for role, token in roles.items()}
        self.tokens = {token.id for token in self.tok.control_tokens}
        # The unknown token stands for text, whoever wrote it.
        self.unknown = self.tok.vocab.get(roles["unk"]) if "unk" in roles else None

    def control(self, encoding: Encoding, known: set[int]) -> list[int]:
        """Return the places of control tokens; the unknown token stands for any text."""
        ids = encoding.tolist()
        return [at for at, id in enumerate(ids) if id in known and id != self.unknown]

    def check(self, seed: int, tally: Tally) -> None:
        rng = random.Random(seed)
        variables = self.maker.conversation(rng)
        where = f"{self.pair.name}, conversation {seed}: {variables}"
        plain = attempt(lambda: plain_chat.render(self.template, {**self.special, **variables}))
        chat = attempt(lambda: self.chat(variables))
        if plain is None or chat is None:
            assert chat is None, f"only Jinja refuses: {where}"
            assert plain is None, f"only protok refuses: {where}"
            tally.counts["refused"] += 1
            return
        tally.counts["rendered"] += 1
        text, ids = chat.text, chat.tolist()
        assert text == plain, where
        self.check_decoding(text, ids, where)
        covered = self.template_text(plain, variables)
        if covered is None:
            return
        tally.counts["checked"] += 1
        known = self.tokens | {*chat._more_control}
        for at in self.control(chat.encoding, known):
            tally.counts["control"] += 1
            assert self.inside(chat.encoding, at, text, covered), (
                f"{chat.tokens[at]!r} at token {at} is forged: {where}"
            )
        parsed = self.tok.encode(text, add_special_tokens=False, special="parse", offsets=True)
        spelled = self.control(parsed, known)
        unknown = self.special.get("unk_token")
        if (unknown is None or unknown not in text) and all(
            self.inside(parsed, at, text, covered) for at in spelled
        ):
            tally.counts["ordinary"] += 1
            assert ids == parsed.tolist(), where
        else:
            tally.counts["defused"] += 1

    def chat(self, variables: dict[str, Any]) -> protok.Chat:
        return self.tok.chat(
            variables["messages"],
            tools=variables["tools"],
            add_generation_prompt=variables["add_generation_prompt"],
            template=self.passed,
            arguments="as_given",
            clock=plain_chat.CLOCK,
        )

    def template_text(self, plain: str, variables: dict[str, Any]) -> list[bool] | None:
        """Say of each character whether the template wrote it, or None if it cannot be told."""
        covered = {**self.special, **{name: hidden(value) for name, value in variables.items()}}
        second = attempt(lambda: plain_chat.render(self.template, covered))
        if second is None or len(second) != len(plain):
            return None
        own = [here != HIDDEN for here in second]
        if any(mine and a != b for mine, a, b in zip(own, plain, second, strict=True)):
            return None
        return own

    @staticmethod
    def inside(encoding: Encoding, at: int, text: str, covered: list[bool]) -> bool:
        start, end = (int(edge) for edge in encoding.offsets[at])
        return all(covered[place] for place in range(start, end) if text[place] not in KEPT)

    def check_decoding(self, text: str, ids: list[int], where: str) -> None:
        decoded = self.tok.decode(ids)
        losing = self.pair.losing
        if losing == "nothing":
            assert decoded == text, where
        elif losing == "composition":
            assert decoded == unicodedata.normalize("NFC", text), where
        elif losing == "blanks":
            # Its marks take the blanks that follow them along.
            assert "".join(decoded.split()) == "".join(text.split()), where
        else:
            # What is left of ordinary letters must be there, in order.
            assert letters(decoded) == letters(text) or self.unknown in ids, where


def letters(text: str) -> list[str]:
    return [c for c in unicodedata.normalize("NFKD", text).lower() if "a" <= c <= "z"]


def attempt(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except protok.InputError:
        raise
    except Exception:  # noqa: BLE001  (a refusal, whoever raises it)
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="0/1", help="every n-th pair, as place/n")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    options = parser.parse_args()
    place, parts = (int(number) for number in options.part.split("/"))
    total = Tally()
    for pair in [pair for pair in PAIRS if options.only in pair.name][place::parts]:
        checker, tally, start = Checker(pair, options.shared), Tally(), time.perf_counter()
        for seed in range(options.seed, options.seed + options.conversations):
            checker.check(seed, tally)
        total.counts += tally.counts
        took = time.perf_counter() - start
        print(f"{tally.share:6.1%}  {pair.name}: {tally}  ({took:.0f} s)", flush=True)
    print(f"{total.share:6.1%} of the pairs that render are checked (at least 70 %): {total}")
    if total.share < 0.7:
        sys.exit(1)


if __name__ == "__main__":
    main()
