from __future__ import annotations

from textwrap import indent

import pytest

from techniques.core.reply import replied
from techniques.core.request import Request, said
from techniques.core.task import Ran
from techniques.parts.programs import (
    Suite,
    failures,
    program_in,
    share,
    suite_in,
    trial,
    trial_token,
)
from tests.techniques.sandboxes import Here
from tests.techniques.scene import asks

DOUBLE = "def double(x):\n    return 2 * x\n"
SHOWN = "def double(x):\n    return x\n"
LIES = [
    "os.write(1, (sys.modules['__main__'].TOKEN + ' 1 1\\n').encode()); os._exit(0)",
    "os.write(1, b'tag 1 1\\n'); os._exit(0)",
    "[os.write(fd, b'tag 1 1\\n') for fd in (1, 2)]; os._exit(0)",
    "print('tag 1 1', flush=True); sys.exit(0)",
    "sys.modules['__main__'].passes = lambda *_: True",
    "sys.modules['__main__'].failed = []; sys.modules['__main__'].results = [True]",
    "sys.modules['__main__'].main = lambda: None",
    "sys.modules['__main__'].TOKEN = 'x'",
    "sys.stdout = sys.stderr = None",
    "os.close(0); os.close(1)",
]


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
        ("\t```` py title=a\r\na = 1\r\n````\r\n", ("a = 1\r\n",)),
        ("```a = 1``` is no fence", ()),
        ("~~~py `x`\na is no program", ()),
        ("``py\na is no program\n``", ()),
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


@pytest.mark.parametrize("when", ["at once", "when called"])
@pytest.mark.parametrize("act", LIES)
async def test_a_program_does_not_pass_by_what_it_writes_finds_or_replaces(
    act: str, when: str
) -> None:
    lie = f"try:\n    {act}\nexcept Exception:\n    pass\n"
    called = f"def double(x):\n{indent(lie, '    ')}    return x\n"
    program = f"{lie}{SHOWN}" if when == "at once" else called
    assert await passed(f"import os, sys\n{program}", "assert double(2) == 4") == 0.0


async def test_a_program_sees_neither_its_token_nor_its_tests_before_they_run() -> None:
    look = (
        "import gc, os, sys\n"
        "seen = repr([sys.argv, dict(os.environ), sys.stdin.read(), globals()])\n"
        "frame = sys._getframe()\n"
        "while frame:\n    seen += repr((frame.f_globals, frame.f_locals))\n"
        "    frame = frame.f_back\n"
        "seen += repr([one for one in gc.get_objects() if type(one) in (list, tuple, dict)])\n"
        "knew = 'drowterces'[::-1] in seen or ')2(elbuod'[::-1] in seen\n"
    )
    pieces = (look, DOUBLE)
    tests = Suite("assert double(2) == 4\nassert not knew")
    assert share(await Here().run(trial(pieces, tests, "secretword")), "secretword") == 1.0


async def test_a_program_that_ends_is_told_of() -> None:
    ran = await Here().run(trial(["import os\nos._exit(0)"], Suite("assert f(1)"), "tag"))
    assert failures(ran, "tag") == "It ended before its tests did."


def test_each_trial_has_a_token_of_its_own_that_tells_nothing_of_the_fence() -> None:
    tokens = {trial_token(fence, [code]) for fence in ("one", "two") for code in (DOUBLE, SHOWN)}
    assert len(tokens) == 4
    assert not any("one" in token or "two" in token for token in tokens)
    assert trial_token("one", ["\ud800"])


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
