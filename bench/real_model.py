"""What techniques do for a real model: arithmetic questions, each asked under each technique.

python -m bench.real_model --base-url http://127.0.0.1:8080/v1 --model local
python -m bench.real_model ... --technique none --technique 'self_consistency {"num_samples": 9}'

The questions are the same for the same ``--seed``. Each is asked under every technique before the
next one is, so that what else the machine does meanwhile disturbs them alike.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

import openai

_PLAIN: Final = "none"
_TECHNIQUES: Final = (_PLAIN, "self_consistency", "best_of_n", "self_refine")
_NUMBER: Final = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_SECOND: Final = {"+": 1000, "x": 100}
"""Sums of numbers up to three digits, products of two digits by up to three."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the one number that answers it."""

    text: str
    answer: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one question. ``tokens`` are all that the model read and wrote for it."""

    right: bool
    calls: int
    tokens: int
    seconds: float


@dataclass(slots=True)
class Row:
    """What came of all questions under one technique."""

    asked: list[Asked] = field(default_factory=list)


def questions(count: int, seed: int, ending: str) -> Iterator[Question]:
    """Yield *count* sums and products in turn, drawn by *seed*; *ending* says how to answer."""
    for index in range(count):
        dice = hashlib.sha256(f"{seed}:{index}".encode()).digest()
        operator = "+x"[index % 2]
        first = 10 + int.from_bytes(dice[:4], "big") % 990
        second = 10 + int.from_bytes(dice[4:8], "big") % (_SECOND[operator] - 10)
        answer = first + second if operator == "+" else first * second
        yield Question(f"What is {first} {operator} {second}? {ending}".strip(), answer)


def is_right(text: str, answer: int) -> bool:
    """Return whether the last number in *text* is *answer*."""
    found = _NUMBER.findall(text)
    return bool(found) and float(found[-1].replace(",", "")) == answer


def ask(client: openai.OpenAI, model: str, technique: str, question: Question) -> Asked:
    """Ask *question* under *technique*, at temperature 0 where the technique does not choose it.

    *technique* is its name, and after a space its options in JSON if it is to have any.
    """
    name, _, options = technique.partition(" ")
    began = monotonic()
    answer = client.chat.completions.with_raw_response.create(
        model=model,
        messages=[{"role": "user", "content": question.text}],
        temperature=0,
        max_tokens=256,
        extra_headers={"x-lockgate-technique": name, "x-lockgate-params": options or "{}"},
    )
    seconds = monotonic() - began
    completion = answer.parse()
    usage = completion.usage
    whole = (usage.model_extra or {}).get("lockgate") if usage else None
    tokens = whole["total_tokens"] if whole else usage.total_tokens if usage else 0
    right = is_right(completion.choices[0].message.content or "", question.answer)
    return Asked(right, int(answer.headers["x-lockgate-calls"]), tokens, seconds)


def render(rows: dict[str, Row]) -> str:
    """Return the table; won and lost are against the plain call, question by question."""
    lines = [
        "| technique | right | won | lost | calls | tokens | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    plain = rows[_PLAIN].asked if _PLAIN in rows else []
    for technique, row in rows.items():
        count = len(row.asked)
        pairs = [(a.right, b.right) for a, b in zip(row.asked, plain, strict=False)]
        cells = (
            technique,
            f"{sum(a.right for a in row.asked)} of {count}",
            str(pairs.count((True, False))),
            str(pairs.count((False, True))),
            f"{sum(a.calls for a in row.asked) / count:.1f}",
            f"{sum(a.tokens for a in row.asked) / count:.0f}",
            f"{sum(a.seconds for a in row.asked) / count:.1f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join((*lines, "", "Calls, tokens and seconds are means for one question."))


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask, and print the table; stopped early (Ctrl-C), the table of what was asked so far."""
    given = _arguments(arguments)
    client = openai.OpenAI(base_url=given.base_url, api_key=given.key, max_retries=0, timeout=600)
    rows: dict[str, Row] = {name: Row() for name in given.technique or _TECHNIQUES}
    try:
        for number, question in enumerate(questions(given.count, given.seed, given.ending), 1):
            done = {name: ask(client, given.model, name, question) for name in rows}
            for name, asked in done.items():
                rows[name].asked.append(asked)
            marks = " ".join(
                f"{name}={'right' if a.right else 'wrong'}" for name, a in done.items()
            )
            sys.stderr.write(f"{number}: {question.text} ({question.answer}) {marks}\n")
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    if all(row.asked for row in rows.values()):
        sys.stdout.write(f"{render(rows)}\n")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base-url", required=True, help="the gateway, with /v1")
    parser.add_argument("--model", required=True)
    parser.add_argument("--key", default="any", help="a key of the gateway's")
    parser.add_argument("--count", type=int, default=20, help="questions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--technique", action="append", help="may be repeated; with options: NAME JSON"
    )
    parser.add_argument("--ending", default="Reply with the number only.")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
