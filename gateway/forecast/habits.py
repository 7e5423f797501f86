"""What requests of each technique were made of lately: how many calls, of whom, in which order."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from gateway.metering.ledger import CallFinished, Fact, RequestFinished

_KEPT: Final = 50
_MOST: Final = 256
_ONE_IN: Final = 8
_MOST_CALLS: Final = 64
_ENDED: Final = frozenset({"ok", "truncated"})


class Made(NamedTuple):
    """One call of a request: its input as a part of the first call's, and how much was cached."""

    model: str
    role: str
    ratio: float
    cached: float


Form: TypeAlias = tuple[tuple[Made, ...], ...]
"""The calls of a request, in waves: those of a wave went at the same time."""


class Habits:
    """A meter: keeps the forms of 50 requests of each technique and model, lately made.

    Once there are so many, only every eighth request is looked at: it costs next to nothing.
    """

    def __init__(self) -> None:
        self._forms: OrderedDict[tuple[str, str], deque[Form]] = OrderedDict()
        self._count = 0

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Take in the requests that have ended."""
        for fact in facts:
            if isinstance(fact, RequestFinished) and fact.outcome == "success" and fact.rows:
                self._keep((fact.technique, fact.model), fact.rows)

    def _keep(self, key: tuple[str, str], rows: Sequence[CallFinished]) -> None:
        forms = self._forms.get(key)
        self._count += 1
        if forms is not None and len(forms) == _KEPT and self._count % _ONE_IN:
            return
        form = form_of(rows)
        if not form:
            return
        if forms is None:
            forms = self._forms[key] = deque(maxlen=_KEPT)
            if len(self._forms) > _MOST:
                self._forms.popitem(last=False)
        forms.append(form)

    def of(self, technique: str, model: str) -> tuple[Form, ...]:
        """Return the forms of late requests of *technique* to *model*, the oldest first."""
        return tuple(self._forms.get((technique, model), ()))


def form_of(rows: Sequence[CallFinished]) -> Form:
    """Return the form of a request that made the calls of *rows*.

    A call that began before the first of a wave had ended is of that wave.
    """
    ended = [row for row in rows if row.outcome in _ENDED and row.usage.input_tokens > 0]
    ended = sorted(ended, key=lambda row: row.started_at)[:_MOST_CALLS]
    waves: list[list[Made]] = []
    until = 0.0
    for row in ended:
        end = row.started_at + row.seconds
        if not waves or row.started_at >= until:
            waves.append([])
            until = end
        until = min(until, end)
        waves[-1].append(_made(row, ended[0].usage.input_tokens))
    return tuple(map(tuple, waves))


def _made(row: CallFinished, first: int) -> Made:
    entry = row.usage.input_tokens
    return Made(row.model, row.role, entry / first, row.usage.cache_read_tokens / entry)
