"""A question whose answer is known: what is right, and what a model that errs would say instead."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

Kind = Literal["number", "letter", "short", "yes_no", "prose"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A question and its answers.

    ``question`` is the question without what surrounds it in a prompt: it alone decides how hard
    the problem is. ``wrong`` are plausible wrong answers, the likeliest first. ``steps`` explain
    the answer, whatever it is, without giving it.
    """

    kind: Kind
    question: str
    answer: str
    wrong: tuple[str, ...]
    steps: str


def written(value: Fraction) -> str:
    """Return *value* as people write it: whole, or with at most four decimals."""
    if value.denominator == 1:
        return str(value.numerator)
    text = f"{Decimal(value.numerator) / Decimal(value.denominator):.4f}"
    return text.rstrip("0").rstrip(".")


def near_misses(value: Fraction) -> tuple[str, ...]:
    """Return what a careless calculator takes *value* for: slips of a unit, a carry, a digit."""
    size = abs(value)
    step = Fraction(10 if size >= 20 else 2 if size >= 4 else 1)
    slips = [value + step, value - 1, value + 1, value - step, value + step + 1, 2 * value]
    digits = str(abs(value.numerator))
    if value.denominator == 1 and len(digits) > 1 and digits[-1] != digits[-2]:
        swapped = int(digits[:-2] + digits[-1] + digits[-2])
        slips.insert(1, Fraction(swapped if value > 0 else -swapped))
    if value >= 0:
        slips = [slip for slip in slips if slip >= 0]
    texts = dict.fromkeys(written(slip) for slip in slips)
    texts.pop(written(value), None)
    return tuple(texts)


def numeric(question: str, value: Fraction, steps: str) -> Problem:
    """Return the problem whose answer is the number *value*."""
    return Problem("number", question, written(value), near_misses(value), steps)
