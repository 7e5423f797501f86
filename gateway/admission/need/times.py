"""How long sub-calls take: until the answer begins, and for each token of it."""

from __future__ import annotations

from gateway.admission.need.stream import Stream
from gateway.admission.need.streams import Key, Streams
from gateway.admission.need.value import Latency, SubCall, Timing


class Times:
    """Bounds the two by model, and whether it answers in one piece and reasons."""

    __slots__ = ("_firsts", "_paces")

    def __init__(self) -> None:
        self._firsts = Streams(_wider, lambda: Stream(step=0))
        self._paces = Streams(_wider, lambda: Stream(step=0))

    def latency(self, call: SubCall) -> Latency | None:
        """Return how long *call* will take; None until 20 calls of its model were timed."""
        key = _key(call)
        first, pace = self._firsts.find(key), self._paces.find(key)
        if first is None or pace is None:
            return None
        first_s, likely_first_s, _ = first[0].figures()
        token_s, likely_token_s, _ = pace[0].figures()
        return Latency(first_s, token_s, likely_first_s, likely_token_s)

    def past(self, call: SubCall, least: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the times until answers began, and those of each token, of *least* calls or more.

        Empty where there were fewer.
        """
        key = _key(call)
        first, pace = self._firsts.find(key, least), self._paces.find(key, least)
        if first is None or pace is None:
            return (), ()
        return tuple(first[0].recent), tuple(pace[0].recent)

    def record(self, call: SubCall, output: int, timing: Timing) -> None:
        """Take in how long *call* took, for *output* tokens."""
        key = _key(call)
        self._firsts.record(key, timing.first_s)
        pace = max(timing.total_s - timing.first_s, 0.0) / max(output - 1, 1)
        self._paces.record(key, pace)


def _key(call: SubCall) -> Key:
    return (call.model, call.whole, call.traits.thinking)


def _wider(key: Key) -> tuple[Key]:
    return (key[:2],)
