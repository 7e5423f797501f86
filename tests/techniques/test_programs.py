from __future__ import annotations

import pytest

from techniques.core.reply import replied
from techniques.core.request import Request, said
from techniques.core.task import Ran
from techniques.parts.programs import Suite, program_in, share, suite_in, trial
from tests.techniques.sandboxes import Here
from tests.techniques.scene import asks

DOUBLE = "def double(x):\n    return 2 * x\n"
SHOWN = "def double(x):\n    return x\n"


async def passed(program: str, statements: str = "", examples: str = "") -> float | None:
    """Return the share that a fenced *program* passes."""
    pieces = program_in(replied(f"So:\n```python\n{program}\n```\n"))
    return share(await Here().run(trial(pieces, Suite(statements, examples), "tag")), "tag")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("So:\n```python\na = 1\n```\nThen\n```py\nb = 2\n```\n", ("a = 1\n", "b = 2\n")),
        ("```\na = 1\n```", ("a = 1\n",)),
        ("```python\na = 1\n```\nIt prints\n```\n1\n```", ("a = 1\n",)),
        ("````python\ns = '''\n```\n'''\n````", ("s = '''\n```\n'''\n",)),
        ("~~~Python\na = 1\n~~~", ("a = 1\n",)),
        ("```python\na = 1", ("a = 1",)),
        ("```javascript\nlet a = 1\n```", ()),
        ("```x = 1``` is how.", ()),
        (DOUBLE, (DOUBLE,)),
        ("import math\n\nprint(math.pi)", ("import math\n\nprint(math.pi)",)),
        ("It doubles what it gets.", ()),
        ("", ()),
    ],
)
def test_a_program_is_what_is_fenced_or_else_looks_like_code(
    text: str, pieces: tuple[str, ...]
) -> None:
    assert program_in(replied(text)) == pieces


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("Write it.\nassert double(2) == 4\nassert not odd(2)", 2),
        ("Write it.\n```python\nassert double(2) == 4\n```", 1),
        (f"Mend it:\n```\n{SHOWN}\nassert double(2) == 4\nprint(double(3))\n```", 1),
        ("```\nimport math\nx = [\n  1,\n]\nassert f(x) == (\n  4\n)\n```", 7),
        ("```\ndef test_it():\n    assert double(2) == 4\n```", 2),
        ("```\nfor x in (1, 2):\n    assert double(x) == 2 * x\n```", 2),
    ],
)
def test_assertions_of_the_user_are_tests(text: str, statements: int) -> None:
    suite = suite_in(asks(text))
    assert suite is not None
    assert len(suite.statements.splitlines()) == statements
    assert "print" not in suite.statements
    assert "return x" not in suite.statements


@pytest.mark.parametrize(
    "text",
    [
        "Assert that it doubles. Please assert it, and assert (well, try to) that it is fast.",
        "assert dominance over f(x)",
        "```c\nassert(twice(2) == 4);\n```",
        f"```python\n{SHOWN}```",
        "a >> b >>> c",
        "",
    ],
)
def test_not_everything_is_a_test(text: str) -> None:
    assert suite_in(asks(text)) is None


def test_only_what_the_user_said_is_looked_at_and_the_last_tests_count() -> None:
    request = Request(
        "m",
        (
            said("system", "assert rules(1) == 1"),
            said("user", "assert old(1) == 1"),
            said("user", "assert new(1) == 1"),
            said("assistant", "assert mine(1) == 1"),
            said("user", "Now write it."),
        ),
    )
    assert suite_in(request) == Suite("assert new(1) == 1\n")


@pytest.mark.parametrize(
    ("program", "statements", "part"),
    [
        (DOUBLE, "assert double(2) == 4\nassert double(0) == 0", 1.0),
        (SHOWN, "assert double(2) == 4\nassert double(0) == 0", 0.5),
        (DOUBLE, "def test_a():\n    assert double(2) == 4\ndef test_b():\n    assert 0", 0.5),
        (DOUBLE, "from solution import double\nassert double(2) == 4", 1.0),
        (DOUBLE, "def check(f):\n    assert f(2) == 5\ncheck(double)", 0.0),
        (DOUBLE, "import nothing_of_the_kind\nassert double(2) == 4", 0.5),
        (DOUBLE, "def test_nothing(): pass\n", 1.0),
        (DOUBLE, "import math", 0.0),
        (DOUBLE, "assert double(2) ==", 0.0),
        ("def double(x:", "assert double(2) == 4", 0.0),
        (f"{DOUBLE}\nassert False, 'an example that fails'", "assert double(2) == 4", 1.0),
        (f"{DOUBLE}\nimport sys\nsys.exit()", "assert double(2) == 5", 0.0),
        ("def double(x):\n    raise SystemExit", "assert double(2) == 4", 0.0),
        (f"{DOUBLE}\nif __name__ == '__main__':\n    print(input())", "assert double(2) == 4", 1.0),
        (f"{DOUBLE}\nprint('tag 9 9')", "assert double(2) == 5", 0.0),
        (f"{DOUBLE}\ndef test_mine():\n    assert False", "assert double(2) == 4", 1.0),
        (
            "from __future__ import annotations\nfrom dataclasses import dataclass\n"
            "@dataclass\nclass P:\n    x: int",
            "assert P(2).x == 2",
            1.0,
        ),
    ],
)
async def test_a_trial_tells_which_share_of_the_tests_holds(
    program: str, statements: str, part: float
) -> None:
    assert await passed(program, statements) == part


@pytest.mark.parametrize(
    ("program", "part"), [(DOUBLE, 1.0), (SHOWN, 0.5), ("def other():\n    pass", 0.0)]
)
async def test_examples_of_the_user_are_tests(program: str, part: float) -> None:
    text = '```python\ndef double(x):\n    """Twice x.\n\n    >>> double(2)\n    4\n    """\n```\n'
    suite = suite_in(asks(f"Write this.\n{text}\n>>> double(0)\n0\n"))
    assert suite is not None
    assert not suite.statements
    assert await passed(program, "", suite.examples) == part


async def test_statements_and_examples_count_together() -> None:
    assert await passed(SHOWN, "assert double(0) == 0", ">>> double(1)\n2\n") == 0.5


@pytest.mark.parametrize(
    ("ran", "told"),
    [
        (Ran("ok", "tag 2 4\n"), 0.5),
        (Ran("ok", "noise\ntag 4 4"), 1.0),
        (Ran("ok", "tag 4 4\nnoise"), 0.0),
        (Ran("ok", f"tag {'9' * 5000} 1"), 0.0),
        (Ran("ok", "gat 4 4"), 0.0),
        (Ran("ok"), 0.0),
        (Ran("failed", "tag 4 4"), 0.0),
        (Ran("timeout"), 0.0),
        (Ran("unavailable"), None),
    ],
)
def test_only_a_trial_that_came_to_its_end_passes(ran: Ran, told: float | None) -> None:
    assert share(ran, "tag") == told
