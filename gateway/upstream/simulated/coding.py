"""Writes small Python programs: some that are well known, else what the given examples ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gateway.upstream.simulated import solving
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.pieces import Draft
from gateway.upstream.simulated.settings import SimulatedModel

_LONGEST: Final = 4000  # characters; in a longer text nothing is looked for
_MOST_EXAMPLES: Final = 20
_ASKED: Final = re.compile(
    r"\b(?:write|implement|code|complete|give me|create)\b[^\n]{0,80}"
    r"\b(?:function|program|script|python)\b",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(
    r"\bdef[ ]{1,4}([A-Za-z_]\w{0,60})[ ]?\("
    r"|^[ \t>]{0,12}(?:assert (?:not )?)?([A-Za-z_]\w{0,60})\("
    r"|`([A-Za-z_]\w{0,60})(?:\([^`\n]{0,80}\))?`"
    r"|\b(?:function|called|named) ([A-Za-z_]\w{0,60}_\w{1,60}|[a-z]\w{0,60}(?=\())",
    re.MULTILINE,
)
_EXAMPLE: Final = re.compile(
    r"^[ \t]{0,12}(?:assert [A-Za-z_]\w{0,60}\((?P<given>[^\n]{0,200}?)\) == (?P<made>[^\n]{1,200})"
    r"|>>> [A-Za-z_]\w{0,60}\((?P<told>[^\n]{0,200})\)[ ]{0,4}\n"
    r"[ \t]{0,12}(?P<shown>[^\n]{1,200}))$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class _Known:
    """A program: words that ask for it, its usual name, what it takes, bodies right and wrong."""

    asked: str
    name: str
    takes: str
    right: str
    wrong: str


_PROGRAMS: Final = (
    _Known(
        r"factorial",
        "factorial",
        "n",
        "return 1 if n < 2 else n * {name}(n - 1)",
        "return n if n < 3 else n * {name}(n - 2)",
    ),
    _Known(
        r"fibonacci|\bfib\b",
        "fibonacci",
        "n",
        "a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a",
        "a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return b",
    ),
    _Known(
        r"prime",
        "is_prime",
        "n",
        "return n > 1 and all(n % k for k in range(2, int(n**0.5) + 1))",
        "return n > 1 and all(n % k for k in range(2, int(n**0.5)))",
    ),
    _Known(
        r"palindrom",
        "is_palindrome",
        "text",
        "kept = [c.lower() for c in str(text) if c.isalnum()]\n    return kept == kept[::-1]",
        "return text[0] == text[-1]",
    ),
    _Known(r"revers", "reverse", "value", "return value[::-1]", "return value[-1:0:-1]"),
    _Known(
        r"greatest common divisor|\bgcd\b",
        "gcd",
        "a, b",
        "while b:\n        a, b = b, a % b\n    return a",
        "return min(a, b)",
    ),
    _Known(
        r"vowel",
        "count_vowels",
        "text",
        'return sum(c in "aeiou" for c in text.lower())',
        'return sum(c in "aeiou" for c in text)',
    ),
    _Known(r"\b(?:is_)?even\b", "is_even", "n", "return n % 2 == 0", "return n % 2 == 1"),
    _Known(
        r"\bsort(?:s|ed)?\b",
        "sort",
        "values",
        "return sorted(values)",
        "return sorted(set(values))",
    ),
    _Known(r"\bsums?\b|\badd(?:s|ing)?\b", "add", "*values", "{sum}", "return values[0]"),
    _Known(r"largest|maximum", "largest", "values", "return max(values)", "return values[-1]"),
)
_SUM: Final = """\
flat = values[0] if len(values) == 1 and not isinstance(values[0], (int, float)) else values
    return sum(flat)"""


def draft(question: str, model: SimulatedModel, dice: Dice) -> Draft | None:
    """Return a program for *question*, None if it asks for none, or for one that is not known."""
    if solving.taught.get() is not None or len(question) > _LONGEST:
        return None
    named = _NAMED.search(question)
    if not _ASKED.search(question):
        return None
    name = next(filter(None, named.groups()), "") if named else ""
    errs = dice.happens("error", solving.rate(question, model.error_rate))
    code = _known(question, name, errs=errs) or _by_example(question, name, errs=errs)
    if code is None:
        return None
    return Draft(f"Here is the function.\n\n```python\n{code}\n```", sure=not errs)


def _known(question: str, name: str, *, errs: bool) -> str | None:
    low = question.lower()
    found = next((one for one in _PROGRAMS if re.search(one.asked, low)), None)
    if found is None:
        return None
    called = name or found.name
    body = (found.wrong if errs else found.right).format(name=called, sum=_SUM)
    return f"def {called}({found.takes}):\n    {body}"


def _by_example(question: str, name: str, *, errs: bool) -> str | None:
    """Return a function that does what the examples in *question* say, and knows nothing else."""
    examples = list(_examples(question))[:_MOST_EXAMPLES]
    if not name or not examples:
        return None
    lines = [f"    if given == ({given},):\n        return {made}" for given, made in examples]
    return "\n".join([f"def {name}(*given):", *(lines[1:] if errs else lines), "    return None"])


def _examples(question: str) -> Iterator[tuple[str, str]]:
    for found in _EXAMPLE.finditer(question):
        given = found["given"] if found["given"] is not None else found["told"]
        made = found["made"] or found["shown"]
        yield given.strip().rstrip(","), made.strip()
