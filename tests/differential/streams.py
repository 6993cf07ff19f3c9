"""Cut ids into pushes at random: what streams give, joined, is what decoding gives.

    python tests/differential/streams.py                     100,000 cuts over all artifacts
    python tests/differential/streams.py --cuts 2000 --only qwen3 --seed 7

The ids are those of texts of every slice of the corpora and of random texts, random ids of the
vocabulary, and random bytes where ids for bytes exist; options, prompts, copies, rollbacks and
stop strings are drawn too. Prints a table, and the first case of each artifact that fails. Exits
with 1 if anything does, with 2 if there is nothing to read.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import protok

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from differential import command
from differential.paths import ARTIFACTS, Paths
from differential.texts import SHARED, corpus, random_text

LONGEST = 60  # ids of a case


class Case:
    """Ids, how they are decoded, and where they are cut."""

    def __init__(self, tok: protok.Tokenizer, ids: list[int], source: random.Random) -> None:
        self.tok, self.ids = tok, ids
        self.options: dict[str, Any] = {
            "skip_special_tokens": source.random() < 0.5,
            "clean_up_spaces": source.random() < 0.3,
        }
        self.text = tok.decode(ids, **self.options)
        self.cuts = sorted(source.randrange(len(ids) + 1) for _ in range(source.randint(1, 12)))
        if source.random() < 0.5:
            self.cuts = list(range(len(ids) + 1))
        self.source = source

    def pushes(self) -> Iterator[list[int]]:
        """Yield the ids of each push; some are empty."""
        for start, end in zip([0, *self.cuts], [*self.cuts, len(self.ids)], strict=True):
            yield self.ids[start:end]

    def whole(self) -> None:
        """Join all deltas, with copies and rollbacks on the way."""
        stream = self.tok.stream(**self.options)
        text = ""
        ids: list[int] = []
        pushed: list[int] = []
        for push in self.pushes():
            if self.source.random() < 0.1:
                stream = stream.copy()
            if self.source.random() < 0.1:
                extra = self.source.choices(self.ids, k=self.source.randint(1, 5))
                delta = stream.push(extra)
                characters, count = stream.rollback(len(extra))
                text += delta.text
                text = text[: len(text) - characters]
                ids += delta.ids
                ids = ids[: len(ids) - count]
                assert [*ids] == pushed[: len(ids)], "rollback left other ids"
            delta = stream.push(push)
            pushed += push
            text, ids = text + delta.text, [*ids, *delta.ids]
            assert self.text.startswith(text), f"gave {text!r} of {self.text!r}"
            assert ids == pushed[: len(ids)], "ids are out of order"
            assert bool(stream.held) or ids == pushed, "nothing is held, but ids are"
        delta = stream.finish()
        text, ids = text + delta.text, [*ids, *delta.ids]
        assert text == self.text, f"joined {text!r}, decoded {self.text!r}"
        assert ids == self.ids, "not all ids were released"

    def after(self) -> None:
        """Go on after a prompt: what it has released and the stream's text are the whole."""
        place = self.source.randrange(len(self.ids) + 1)
        prompt = self.tok.stream(**self.options)
        before = prompt.push(self.ids[:place]).text
        stream = self.tok.stream(after=self.ids[:place], **self.options)
        deltas = [stream.push(id) for id in self.ids[place:]] + [stream.finish()]
        text = before + "".join(delta.text for delta in deltas)
        assert text == self.text, f"after {place} ids {text!r}, decoded {self.text!r}"
        released = [id for delta in deltas for id in delta.ids]
        assert released == self.ids[place:], "the prompt's ids were released, or others not"

    def stops(self) -> None:
        """Stop at strings of the text: the same text, ids and place for every cut."""
        strings = []
        for _ in range(self.source.randint(1, 3)):
            start = self.source.randrange(len(self.text) + 1)
            strings.append(self.text[start : start + self.source.randint(1, 6)] or "absent")
        include = self.source.random() < 0.5
        expected, span = stopped(self.text, strings, include=include)
        seen = []
        for pushes in (list(self.pushes()), [[id] for id in self.ids], [self.ids]):
            stream = self.tok.stream(stop=strings, include_stop=include, **self.options)
            deltas = [stream.push(push) for push in pushes] + [stream.finish()]
            text = "".join(delta.text for delta in deltas)
            assert text == expected, f"stops {strings} gave {text!r}, not {expected!r}"
            assert stream.stop_span == span, f"{stream.stop_span}, not {span}"
            seen.append([id for delta in deltas for id in delta.ids])
        assert seen[0] == seen[1] == seen[2] == self.ids[: len(seen[0])], "ids depend on the cuts"
        matcher = protok.StopMatcher(strings, include_stop=include)
        data, at, text = self.text.encode(), 0, ""
        while at < len(data):
            size = self.source.randint(1, 5)
            text += matcher.push(data[at : at + size]).text
            at += size
        assert text + matcher.finish().text == expected, "bytes gave another text"


def stopped(text: str, strings: list[str], *, include: bool) -> tuple[str, tuple[int, int] | None]:
    """Find the stop by its definition: the first end, and there the longest string."""
    for end in range(1, len(text) + 1):
        ending = [string for string in strings if text[:end].endswith(string)]
        if ending:
            start = end - max(map(len, ending))
            return text[: end if include else start], (start, end)
    return text, None


def id_lists(tok: protok.Tokenizer, source: random.Random) -> Iterator[list[int]]:
    """Yield ids without end: of texts, of the vocabulary, and of bytes."""
    known = [id for id in range(tok.vocab.size) if _is_known(tok, id)]
    short = sorted(known, key=lambda id: len(tok.vocab.bytes(id)))[:300]
    special = [token.id for token in tok.added_tokens][:50]
    texts = [text for _, text in corpus(small=True, source=source)]
    added = [token.content for token in tok.added_tokens]
    while True:
        text = source.choice(texts)
        start = source.randrange(max(1, len(text) - 100))
        yield tok.encode(text[start : start + 100], special="parse").tolist()
        yield tok.encode(random_text(source, added), special="parse").tolist()
        yield source.choices(known, k=source.randint(1, 20))
        yield source.choices(short, k=source.randint(1, 30))
        yield source.choices([*short, *source.choices(known, k=20), *special], k=20)
        if special:
            yield [
                source.choice(source.choice([short, known, special]))
                for _ in range(source.randint(1, 16))
            ]


def _is_known(tok: protok.Tokenizer, id: int) -> bool:
    try:
        tok.decode([id])
    except protok.UnknownIdError:
        return False
    return True


def check(name: str, cuts: int, seed: int) -> tuple[int, int, list[str]]:
    """Run cases of one artifact until so many cuts were made."""
    source = random.Random(f"{name} {seed}")  # the Mersenne Twister
    tok = Paths(SHARED / "artifacts" / ARTIFACTS[name]).tok
    made, cases, failures = 0, 0, []
    for ids in id_lists(tok, source):
        if not ids:
            continue
        case = Case(tok, ids[:LONGEST], source)
        for run in (case.whole, case.after, case.stops):
            try:
                run()
            except (AssertionError, protok.ProtokError) as error:
                failures.append(f"{run.__name__} {case.ids} {case.options} {case.cuts}: {error}")
        cases += 1
        made += len(case.cuts)
        if made >= cuts:
            return cases, made, failures
    raise AssertionError("the ids have no end")


def checked(name: str, count: int, seed: int) -> tuple[int, str, list[str]]:
    """Check an artifact, and give the number of cases as it is shown."""
    cases, made, failures = check(name, count, seed)
    return made, f"{cases:,}", failures


if __name__ == "__main__":
    raise SystemExit(command.run(__doc__, "cuts", "cases", checked))
