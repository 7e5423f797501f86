"""What a model's name tells: its dated snapshot, its maker, its base, its family and its size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_SNAPSHOT: Final = re.compile(r"[-@](?:20\d{2}-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01]))$")
_FINE_TUNED: Final = re.compile(r"ft:([^:]+)(?::.*)?")
_SIZE: Final = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?a?(\d+(?:\.\d+)?)b(?![a-z0-9])")
_ACTIVE: Final = re.compile(r"(?<![a-z0-9.])a(\d+(?:\.\d+)?)b(?![a-z0-9])")
_AT_ONCE: Final = 2
"""How many experts of a mixture work on a token, where only their number and size are named."""
_BOUNDARY: Final = "-.:@_/"


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to look a model up. ``tuned`` tells that it is the base of a fine-tuned one."""

    name: str
    tuned: bool = False


def plain(name: str) -> str:
    """Return *name* as names are compared."""
    return name.strip().lower()


def spellings(name: str, makers: frozenset[str]) -> Iterator[Spelling]:
    """Yield the names under which *name* may stand in a table of its own provider, best first.

    First as it is, then without what names its provider (one of *makers*, or ``models``), then
    each of these without the date of its snapshot. A fine-tuned model stands as ``ft:BASE``; its
    base itself comes last.
    """
    whole = plain(name)
    tuned = _FINE_TUNED.fullmatch(whole)
    if tuned is not None:
        yield from _distinct(whole, *(f"ft:{base}" for base in _undated(tuned[1])))
        yield from (Spelling(base, tuned=True) for base in _undated(tuned[1]))
        return
    maker, slash, rest = whole.partition("/")
    bare = rest if slash and maker in makers | {"models"} else whole
    yield from _distinct(whole, bare, *_undated(whole), *_undated(bare))


def _distinct(*names: str) -> Iterator[Spelling]:
    yield from (Spelling(name) for name in dict.fromkeys(names))


def _undated(name: str) -> tuple[str, ...]:
    return name, _SNAPSHOT.sub("", name)


def begins(name: str, start: str) -> bool:
    """Return whether *start* is the beginning of *name*, up to where a word of it ends."""
    return name.startswith(start) and (
        len(name) == len(start) or name[len(start)] in _BOUNDARY or start[-1] in _BOUNDARY
    )


def billions(name: str) -> float | None:
    """Return how many billions of parameters *name* says that the model has, None if none.

    Of a mixture of experts these are the active ones, where it says how many.
    """
    whole = plain(name)
    if active := _ACTIVE.search(whole):
        return float(active[1])
    found = _SIZE.search(whole)
    if found is None:
        return None
    return float(found[2]) * min(int(found[1] or 1), _AT_ONCE)


def family(name: str) -> str:
    """Return what of *name* is left without its maker, its size and the date of its snapshot."""
    bare = _SNAPSHOT.sub("", plain(name).rpartition("/")[2].partition(":")[0])
    return re.sub(r"[-_.]{2,}", "-", _SIZE.sub("", bare)).strip("-_.")
