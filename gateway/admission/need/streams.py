"""Streams by what they are of: where a narrow one has too little to say, a wider one speaks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Final, TypeAlias

from gateway.admission.need.stream import LEAST, Stream

Key: TypeAlias = tuple[Hashable, ...]
"""Names from the configuration and truth values only: nothing that a caller can make up."""

MOST: Final = 1000
_EMPTY: Final = Stream()


class Streams:
    """At most *most* narrow streams; the one that was least recently added to goes first.

    ``wider`` gives the keys of what a narrow key is part of, the narrowest first.
    """

    __slots__ = ("_chains", "_make", "_most", "_wide", "_wider")

    def __init__(
        self,
        wider: Callable[[Key], Sequence[Key]],
        make: Callable[[], Stream] = Stream,
        most: int = MOST,
    ) -> None:
        self._wider = wider
        self._make = make
        self._most = most
        self._chains: OrderedDict[Key, tuple[Stream, ...]] = OrderedDict()
        self._wide: OrderedDict[Key, Stream] = OrderedDict()

    def __len__(self) -> int:
        return len(self._chains) + len(self._wide)

    def find(self, key: Key, least: int = LEAST) -> tuple[Stream, int] | None:
        """Return the narrowest stream of *key* that has enough to say, None if there is none.

        With it comes how many are narrower.
        """
        chain = self._chains.get(key) or self._known(key)
        if len(chain[0].recent) >= least:
            return chain[0], 0
        for place, stream in enumerate(chain):
            if len(stream.recent) >= least:
                return stream, place
        return None

    def at(self, key: Key, place: int) -> Stream | None:
        """Return the stream of *key* that so many are narrower than, None if it is empty."""
        stream = (self._chains.get(key) or self._known(key))[place]
        return stream if stream.recent else None

    def record(self, key: Key, value: float) -> None:
        """Add *value* to the stream of *key*, and to all that are wider."""
        chain = self._chains.get(key)
        if chain is None:
            chain = self._chains[key] = (self._make(), *map(self._shared, self._wider(key)))
            if len(self._chains) > self._most:
                self._chains.popitem(last=False)
        else:
            self._chains.move_to_end(key)
        for stream in chain:
            stream.record(value)

    def _known(self, key: Key) -> tuple[Stream, ...]:
        return (_EMPTY, *(self._wide.get(wider, _EMPTY) for wider in self._wider(key)))

    def _shared(self, key: Key) -> Stream:
        stream = self._wide.get(key)
        if stream is None:
            stream = self._wide[key] = self._make()
            if len(self._wide) > self._most:
                self._wide.popitem(last=False)
        return stream
