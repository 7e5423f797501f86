"""Tells whether what an answer calls Python is Python. It is read, and not run."""

from __future__ import annotations

import ast
import warnings
from typing import Final

from techniques.core.reply import Reply
from techniques.parts.programs import PYTHON, blocks

_LONGEST: Final = 20_000  # characters; what is longer is not read


def parses(reply: Reply) -> bool:
    """Tell whether all that *reply* calls Python is Python; True where there is none."""
    fenced = (one for one in blocks(reply.text) if one.fenced)
    called = (one.text for one in fenced if one.language.lower() in PYTHON)
    return all(map(is_python, called))


def is_python(code: str) -> bool:
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
