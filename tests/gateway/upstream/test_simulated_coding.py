"""The simulation writes programs, so that techniques that run them can be tried on it."""

from __future__ import annotations

import pytest

from gateway.upstream.simulated import coding
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.settings import MODELS, Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from techniques.core.json import Json
from techniques.core.reply import replied
from techniques.core.request import Request, said
from techniques.parts.programs import program_in, suite_in
from tests.gateway.upstream.simulated_calls import ask

TASKS = {
    "factorial": ("Write a Python function that returns the factorial.", "factorial(5)", 120),
    "fib": ("Implement the function `fib(n)` for Fibonacci numbers.", "fib(10)", 55),
    "is_prime": ("Write a function is_prime(n).", "is_prime(49)", False),
    "gcd": ("Write a function for the greatest common divisor.", "gcd(12, 18)", 6),
    "rev": ("Complete the function:\n\ndef rev(s):\n    # reverse s", "rev('abc')", "cba"),
    "pal": (
        "Write a function for palindromes.\nassert pal('Anna')",
        "pal('Anna')",
        True,
    ),
    "add": ("Write a function that adds two numbers.", "add(2, 3)", 5),
    "total": ("Write a function `total` for the sum of a list.", "total([2, 3])", 5),
}


def drawn(question: str, draws: int = 40) -> list[str]:
    found = [coding.draft(question, MODELS["sim-small"], Dice(n)) for n in range(draws)]
    return [draft.text for draft in found if draft is not None and draft.text is not None]


def result(text: str, call: str) -> Json:
    """Return what *call* gives with the program in *text*, which is this package's own."""
    space: dict[str, Json] = {}
    try:
        exec("\n".join(program_in(replied(text))), space)
        return eval(call, space)
    except (TypeError, IndexError, ValueError, RecursionError) as error:
        return error


@pytest.mark.parametrize(("question", "call", "value"), TASKS.values(), ids=TASKS)
def test_a_well_known_function_is_written_and_sometimes_wrongly(
    question: str, call: str, value: Json
) -> None:
    results = [result(text, call) for text in drawn(question)]

    right = sum(one == value for one in results)
    assert len(results) == 40
    assert 40 * 0.4 < right <= 40
    assert len(set(drawn(question))) == 2


def test_any_function_is_written_from_the_examples_it_must_pass() -> None:
    tests = "assert price('tea', 2) == 3.5\nassert price('jam', 1) == 4"
    shown = ">>> price('tea', 2)\n3.5\n>>> price('jam', 1)\n4"
    for examples in (tests, shown):
        question = f"Write a function for prices.\n\n{examples}\n"
        assert suite_in(Request("m", (said("user", question),))) is not None
        results = {
            (result(t, "price('tea', 2)"), result(t, "price('jam', 1)")) for t in drawn(question)
        }
        assert results == {(3.5, 4), (None, 4)}


@pytest.mark.parametrize(
    "question",
    ["What is 2 + 3?", "Write a function.", "Write code to check an address.", "Write " * 2000],
)
def test_where_no_program_is_asked_for_or_known_none_is_written(question: str) -> None:
    assert drawn(question) == []


async def test_the_simulated_model_answers_with_it() -> None:
    got = await ask(SimulatedTransport(Simulation()), TASKS["gcd"][0])

    assert "def gcd(a, b):" in got.text
