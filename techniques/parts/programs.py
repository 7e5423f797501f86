"""Programs in answers, the tests in a question, and the one program that tries the other's tests.

Nothing is compiled here: a text that a stranger wrote can bring a compiler down. All of that
happens where the program runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.core.task import Ran
from techniques.parts.harness import harness

PYTHON: Final = frozenset({"python", "python3", "py", "py3"})
_LANGUAGE = re.compile(r"[\w+#.-]*")
_LEAST_MARKS: Final = 3  # what is less is no fence
_LOOKS_LIKE_CODE = re.compile(
    r"""^(?:(?:async[ \t]+)?def\b|class\b|import\b|from[ \t]+[\w.]+[ \t]+import\b
       |[A-Za-z_]\w*[ \t]*=)""",
    re.MULTILINE | re.VERBOSE,
)
_EXAMPLE = re.compile(r"^[ \t]*>>> ", re.MULTILINE)
_NO_OUTPUT = re.compile(r"^[ \t]*(?:```.*|~~~.*|\"\"\"|''')[ \t]*$", re.MULTILINE)
_CLAIM = re.compile(r"^assert[ \t]+(?:not[ \t]+)?[A-Za-z_][\w.]*\(")
_ASSERTED = re.compile(r"^[ \t]*assert\b", re.MULTILINE)
_DEFINITION = re.compile(r"(?:async[ \t]+def|def|class)[ \t]+(?!test)|@")
_CONTINUED = re.compile(r"[ \t)\]}]|$")


@dataclass(frozen=True, slots=True)
class Suite:
    """What a program must pass.

    ``statements`` is Python that asserts, in functions named ``test...`` or outside of any;
    ``examples`` a text with examples of use as ``doctest`` knows them.
    """

    statements: str = ""
    examples: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Some of a text: what stands in a fence, or between two of them."""

    text: str
    fenced: bool
    language: str = ""


def suite_in(request: Request) -> Suite | None:
    """Return the tests that the user put into *request*, those of the last turn that has any.

    These are examples that begin with ``>>>``, and lines that begin with ``assert``.
    """
    texts = (turn.text for turn in reversed(request.messages) if turn.role == "user")
    found = (Suite(_statements(text), _examples(text)) for text in texts)
    return next((tests for tests in found if tests.statements or tests.examples), None)


def program_in(reply: Reply) -> tuple[str, ...]:
    """Return the pieces of the Python program in *reply*, in order; none if it has no program.

    What is fenced, and said to be Python or nothing else; without a fence the whole text, if it
    looks like code.
    """
    fenced = [block for block in blocks(reply.text) if block.fenced]
    named = [block.text for block in fenced if block.language.lower() in PYTHON]
    if fenced:
        return tuple(named or [block.text for block in fenced if not block.language])
    return (reply.text,) if _LOOKS_LIKE_CODE.search(reply.text) else ()


def trial_token(fence: str, program: Sequence[str]) -> str:
    """Return a word for the trial of *program* that tells nothing of the *fence* it comes from."""
    text = "\n".join((fence, *program)).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=8).hexdigest()


def trial(program: Sequence[str], tests: Suite, token: str) -> str:
    """Return the program that tries *tests* on *program*; its last line begins with *token*.

    Whatever else is written is swallowed, and a piece of *program* that fails, such as an example
    of use, does not keep the tests from being tried. How far it can be believed is told in
    ``harness``.
    """
    return harness(tuple(program), tests.statements, tests.examples, token)


def share(ran: Ran, token: str) -> float | None:
    """Return which share of the tests a trial passed, 0 to 1; None if it could not be run.

    A program that ends before its tests do, on purpose or not, passes none.
    """
    if ran.ended == "unavailable":
        return None
    last = ran.out.rstrip().rpartition("\n")[2]
    told = re.fullmatch(rf"{re.escape(token)} (\d{{1,9}}) (\d{{1,9}})", last)
    if ran.ended != "ok" or told is None:
        return 0.0
    passed, tried = int(told[1]), int(told[2])
    return passed / tried if tried else 0.0


def failures(ran: Ran, token: str) -> str:
    """Return what a trial tells of what failed, a line each; "" if it tells nothing."""
    if ran.ended == "timeout":
        return "It did not end in time."
    lines = ran.out.splitlines() or ran.err.splitlines()[-1:]
    return "\n".join(line for line in lines if line and not line.startswith(token))


def blocks(text: str) -> Iterator[Block]:
    """Cut *text* at its fences and yield the pieces; one that nothing closes goes on to the end."""
    mark, language, lines = "", "", list[str]()
    for line in text.splitlines(keepends=True):
        opened = None if mark else _opened(line)
        if opened:
            yield Block("".join(lines), fenced=False)
            (mark, language), lines = opened, []
        elif mark and line.strip().startswith(mark) and not line.strip().strip(mark[0]):
            yield Block("".join(lines), fenced=True, language=language)
            mark, lines = "", []
        else:
            lines.append(line)
    yield Block("".join(lines), fenced=bool(mark), language=language)


def _opened(line: str) -> tuple[str, str] | None:
    """Return the mark and the language of the fence that *line* opens, None if it opens none.

    By steps and not by one pattern: a line may be of any length.
    """
    bare = line.lstrip(" \t")
    rest = bare.lstrip(bare[:1])
    mark = bare[: len(bare) - len(rest)]
    if len(mark) < _LEAST_MARKS or mark[0] not in "`~" or "`" in rest:
        return None
    language = _LANGUAGE.match(rest.lstrip(" \t"))
    return mark, language[0] if language else ""


def _examples(text: str) -> str:
    """Return *text* if it has examples; what closes a fence or a docstring is no output of them."""
    return _NO_OUTPUT.sub("", text) if _EXAMPLE.search(text) else ""


def _statements(text: str) -> str:
    """Return what asserts in *text*, with what prepares it."""
    return "".join(statement for block in blocks(text) for statement in _asserting(block))


def _asserting(block: Block) -> Iterator[str]:
    """Yield the statements of a test in *block*.

    Beside a program that is shown only its assertions are: the answer's program takes its place.
    """
    if not block.fenced:
        yield from (f"{line}\n" for line in block.text.splitlines() if _CLAIM.match(line))
    elif block.language.lower() in {"", *PYTHON} and _ASSERTED.search(block.text):
        statements = list(_chunks(block.text))
        if not any(_DEFINITION.match(statement) for statement in statements):
            yield f"{block.text.rstrip()}\n"
            return
        yield from (f"{one.rstrip()}\n" for one in statements if _ASSERTED.match(one))


def _chunks(text: str) -> Iterator[str]:
    """Cut *text* before each line that does not go on with the one before it."""
    lines = list[str]()
    for line in text.splitlines(keepends=True):
        if lines and not _CONTINUED.match(line):
            yield "".join(lines)
            lines = []
        lines.append(line)
    yield "".join(lines)
