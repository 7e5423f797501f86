"""Finds the Python in an answer, and the tests in a question; reads them and runs nothing."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Final

from techniques.core.reply import Reply

_FENCE: Final = "```"
_PYTHON: Final = frozenset({"python", "py", "python3"})
_LONGEST: Final = 20_000  # characters; what is longer is not read


def parses(reply: Reply) -> bool:
    """Tell whether all that *reply* calls Python is Python; True where there is none."""
    return all(_is_python(code) for language, code in _blocks(reply.text) if language in _PYTHON)


def assertions(question: str) -> str:
    """Return the assertions that *question* gives, one a line; "" if there are none."""
    lines = (line.strip() for line in question[:_LONGEST].splitlines())
    return "\n".join(line for line in lines if line.startswith("assert ") and _is_python(line))


def program(reply: Reply, tests: str) -> str | None:
    """Return the Python of *reply* with *tests* after it; None if it has no Python."""
    blocks = list(_blocks(reply.text))
    fenced = [code for language, code in blocks if language in _PYTHON | {""}]
    code = fenced if blocks else [reply.text]
    sound = [text for text in code if text.strip() and _is_python(text)] or fenced[:1]
    return "\n\n".join([*sound, tests]) if sound else None


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the language and the text of each fenced block; one that never closes ends the text."""
    language: str | None = None
    inside: list[str] = []
    for line in text.splitlines():
        mark = line.strip()
        if language is None and mark.startswith(_FENCE):
            language, inside = mark.removeprefix(_FENCE).strip().lower(), []
        elif language is not None and mark == _FENCE:
            yield language, "\n".join(inside)
            language = None
        elif language is not None:
            inside.append(line)
    if language is not None:
        yield language, "\n".join(inside)


def _is_python(code: str) -> bool:
    """Tell whether *code* can be parsed. What is too long, or too deep to tell, is let pass."""
    if len(code) > _LONGEST:
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in it is not the gateway's business
            ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    except (MemoryError, RecursionError):
        return True
    return True
