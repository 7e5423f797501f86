"""Names what of an answer cannot be told to a client when the gateway writes it anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from techniques.core.events import Warned
from techniques.core.json import Json


def untold(told: Json, *names: str, at: str = "") -> Iterator[Warned]:
    """Yield a warning for each field of these *names* in which *told*, found *at*, says something.

    What is empty says nothing: null, no entries, no tokens.
    """
    for name in names if isinstance(told, Mapping) else ():
        if told.get(name):
            yield Warned("answer_part_dropped", f"{at}.{name}" if at else name)
