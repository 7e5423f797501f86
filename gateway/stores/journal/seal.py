"""Closes texts of runs so that only who has the key reads them; each run has a key of its own."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Final, NamedTuple

import orjson

from gateway.stores.journal.records import JournalLost, RunName
from router_service.groundwork import seal

_MARK: Final = "sealed:1:"
_PURPOSE: Final = b"lockgate journal"


class JournalSealed(JournalLost):
    """What the journal has of a run cannot be opened here."""


class Place(NamedTuple):
    """What a text belongs to: a run, and *what* of it."""

    name: RunName
    what: str

    @property
    def run(self) -> bytes:
        """What tells the run from all others."""
        return b"run " + orjson.dumps([*self.name])

    def packed(self) -> bytes:
        """Return what tells this place from all others."""
        return orjson.dumps([*self.name, self.what])


class Seal:
    """Closes with the first of *keys*, each of 32 bytes, and opens what any of them has closed."""

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        self._seal = seal.Seal(keys, _PURPOSE)

    @property
    def closes(self) -> bool:
        """Whether there is a key at all."""
        return self._seal.closes

    def closed(self, text: str, place: Place) -> str:
        """Return *text* closed for *place*."""
        named, closed = self._seal.closed(text.encode(), place.run, place.packed())
        return f"{_MARK}{named}:{b64encode(closed).decode()}"

    def opened(self, text: str, place: Place) -> str:
        """Return what ``closed`` was given for *place*.

        Raises:
            JournalSealed: The key is not here, or it is not what was closed for this place.
        """
        named, _, packed = text.removeprefix(_MARK).partition(":")
        try:
            closed = b64decode(packed, validate=True)
            return self._seal.opened(named, closed, place.run, place.packed()).decode()
        except seal.KeyGone as gone:
            raise JournalSealed(
                f"The run {place.name.run} is encrypted with a key that is not in"
                " journal.encryption any more."
            ) from gone
        except (seal.Changed, ValueError) as error:
            raise JournalSealed(
                f"What is kept of the run {place.name.run} has changed since it was encrypted."
            ) from error


def is_closed(text: str) -> bool:
    """Return whether a ``Seal`` has closed *text*."""
    return text.startswith(_MARK)
