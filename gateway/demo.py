"""The same forty questions under each technique: what reliability costs, on the simulation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from techniques.core.errors import GatewayError
from techniques.core.reply import Reply
from techniques.core.request import Request, Text, said
from techniques.parts.answers import expect
from techniques.parts.keys import key_of


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its reference answer."""

    text: str
    answer: str


@dataclass(frozen=True, slots=True)
class DemoAnswer:
    """What came back: the text, upstream calls made for it, what they cost, how long it took."""

    text: str
    calls: int
    cost_usd: Decimal
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """The totals of one technique. ``failed`` questions got no answer, and count as wrong."""

    technique: str
    asked: int = 0
    right: int = 0
    failed: int = 0
    calls: int = 0
    cost_usd: Decimal = Decimal(0)
    seconds: float = 0.0


Ask = Callable[[str, str], Awaitable[DemoAnswer]]
"""Asks one question (second) with one technique (first)."""


async def run(ask: Ask, techniques: Iterable[str]) -> AsyncGenerator[Row, None]:
    """Ask every question with each of *techniques*, one after the other; yield each one's totals.

    One at a time, so that a seeded model gives the same table every time.
    """
    for technique in techniques:
        yield await _row(ask, technique)


async def _row(ask: Ask, technique: str) -> Row:
    answers: list[DemoAnswer] = []
    right = failed = 0
    for question in QUESTIONS:
        try:
            answer = await ask(technique, question.text)
        except GatewayError:
            failed += 1
            continue
        answers.append(answer)
        right += is_right(question, answer.text)
    return Row(
        technique,
        len(QUESTIONS),
        right,
        failed,
        sum(answer.calls for answer in answers),
        sum((answer.cost_usd for answer in answers), Decimal(0)),
        sum(answer.seconds for answer in answers),
    )


def is_right(question: Question, text: str) -> bool:
    """Tell whether *text* gives the reference answer, however it is worded."""
    expected = expect(Request("", (said("user", question.text),)))
    given = key_of(Reply((Text(text),)), expected)
    return given is not None and given == key_of(Reply((Text(question.answer),)), expected)


@dataclass(frozen=True, slots=True)
class Table:
    """A plain table with aligned columns, a line for each of *techniques*."""

    techniques: Sequence[str]

    def head(self) -> str:
        """Return the first two lines."""
        under = "  ".join("-" * width for width in self._widths)
        return f"{self._line(_COLUMNS)}\n{under}"

    def line(self, row: Row) -> str:
        """Return the line of *row*."""
        return self._line(_cells(row))

    @property
    def _widths(self) -> tuple[int, ...]:
        first = max(map(len, (_COLUMNS[0], *self.techniques)))
        return (first, len("100 % (40 failed)"), *map(len, _COLUMNS[2:]))

    def _line(self, cells: Sequence[str]) -> str:
        first, *rest = zip(cells, self._widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)])


_COLUMNS: Final = ("technique", "accuracy", "upstream calls", "   cost $", "simulated s")


def _cells(row: Row) -> tuple[str, ...]:
    share = f"{100 * row.right / row.asked:.0f} %" if row.asked else "-"
    if row.failed:
        share = f"{share} ({row.failed} failed)"
    return row.technique, share, str(row.calls), f"{row.cost_usd:.6f}", f"{row.seconds:.1f}"


def _choice(stem: str, options: str, answer: str) -> Question:
    lines = (f"{letter}) {text}" for letter, text in zip("ABCDE", options.split("|"), strict=False))
    return Question("\n".join([stem, *lines]), answer)


QUESTIONS: Final = (
    Question("What is 7 + 15?", "22"),
    Question("What is 12 + 30 - 5?", "37"),
    Question("What is 17 * 23?", "391"),
    Question("What is 144 / 12 + 9?", "21"),
    Question("What is 48 * 52?", "2496"),
    Question("What is (18 - 4) * 6?", "84"),
    Question("What is 15% of 240?", "36"),
    Question("What is 1001 - 467?", "534"),
    Question("Calculate 3 * (27 + 14) - 58.", "65"),
    Question("Calculate 19 squared minus 61.", "300"),
    Question("What is twenty-five times twelve?", "300"),
    Question(
        "Tom has 34 apples. He buys 18 more and gives away 9. How many apples does he have?", "43"
    ),
    Question("There are 14 boxes with 12 pencils each. How many pencils are there?", "168"),
    Question("A train travels at 85 km per hour for 4 hours. How many km does it travel?", "340"),
    Question("96 cookies are shared equally among 8 children. How many does each child get?", "12"),
    Question(
        "A bus has 27 passengers. 8 get off and then 11 get on. How many passengers are on it?",
        "30",
    ),
    _choice("What is 9 * 8?", "64|72|81|70", "B"),
    _choice("What is 13 * 7?", "91|87|101|97", "A"),
    _choice("What is 250 - 68?", "172|192|182|188", "C"),
    _choice("What is 2^9?", "256|1024|518|512", "D"),
    _choice("Which equation is true?", "6 * 7 = 44|8 + 9 = 17|15 - 6 = 8|30 / 5 = 7", "B"),
    _choice("What is the capital of Australia?", "Sydney|Melbourne|Canberra|Perth", "C"),
    _choice("What is the capital of Turkey?", "Ankara|Istanbul|Izmir|Bursa", "A"),
    _choice("What is the chemical symbol for sodium?", "So|S|Sd|Na|Sn", "D"),
    _choice("Which planet is the largest?", "Saturn|Earth|Jupiter|Neptune", "C"),
    _choice("Which planet is known as the red planet?", "Venus|Mars|Mercury|Jupiter", "B"),
    _choice("What is the capital of Switzerland?", "Zurich|Geneva|Basel|Bern", "D"),
    _choice("Which ocean is the largest?", "Pacific|Atlantic|Indian|Arctic", "A"),
    Question("What is the capital of France?", "Paris"),
    Question("What is the capital of Canada?", "Ottawa"),
    Question("What is the capital of New Zealand?", "Wellington"),
    Question("What is the capital of Morocco?", "Rabat"),
    Question("What is the capital of Vietnam?", "Hanoi"),
    Question("What is the capital of Peru?", "Lima"),
    Question("What is the chemical symbol for gold?", "Au"),
    Question("What is the chemical symbol for potassium?", "K"),
    Question("What is the chemical symbol for iron?", "Fe"),
    Question("Which planet is closest to the sun?", "Mercury"),
    Question("What is the name of the planet with the best known rings?", "Saturn"),
    Question("Who painted the Mona Lisa?", "Leonardo da Vinci"),
)
