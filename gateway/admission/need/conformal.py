"""The default predictor: conformal bounds, learned by kind of call."""

from __future__ import annotations

from bisect import bisect_left
from math import ceil, inf
from typing import Final, Protocol

from gateway.admission.need.inputs import Inputs
from gateway.admission.need.stream import STEP, Stream
from gateway.admission.need.streams import Key, Streams
from gateway.admission.need.times import Times
from gateway.admission.need.value import Fit, Ground, Latency, Need, Past, SubCall, Timing
from pricing.usage import Usage

UNLEARNED: Final = 4096
"""Output tokens that are expected where nobody states a limit and nothing is learned."""

FEW: Final = 5
"""So many calls show what the next may be like, though not how large it can be."""

_LIKELY: Final = 256
_GROUNDS: Final[tuple[Ground, ...]] = ("calls", "role", "model")
_ROOM: Final = (64, 1024)
_OVERSIZED: Final = 4
_LEAST_SLACK: Final = 4
_SLACK: Final = 64


class Predictor(Protocol):
    """Says what sub-calls need, and learns from what they used."""

    def need(self, call: SubCall) -> Need:
        """Return what *call* will use."""
        ...

    def latency(self, call: SubCall) -> Latency | None:
        """Return how long *call* will take; None until enough is known."""
        ...

    def past(self, call: SubCall) -> Past:
        """Return what calls like *call* came to. Nothing is learned by it."""
        ...

    def record(self, call: SubCall, need: Need, usage: Usage, timing: Timing | None = None) -> Fit:
        """Take in what *call* used, for which *need* was said; return how the two compare."""
        ...


class Conformal:
    """Bounds that hold for 98 of 100 calls, whatever the distribution of what they use.

    A call is expected to be like the last of its model, use and role that offer tools, ask for a
    form, ask for reasoning, and are allowed little, as it does; where these are fewer than 20, like
    those of its model and role, then of its model; then to use all it may, or *unlearned* tokens
    if that is not stated.

    Source: see ``Stream``.
    """

    __slots__ = ("_inputs", "_outputs", "_times", "_unlearned")

    def __init__(self, unlearned: int = UNLEARNED, step: float = STEP) -> None:
        self._unlearned = unlearned
        self._inputs = Inputs()
        self._outputs = Streams(_wider, lambda: Stream(step=step))
        self._times = Times()

    def need(self, call: SubCall) -> Need:
        """Return what *call* will use."""
        traits = call.traits
        choices = traits.choices
        limit = _limit(call)
        bound = self._inputs.bound(call)
        cached = 0 if traits.prefix is None else min(self._inputs.cached(call), bound)
        found = self._outputs.find(_key(call))
        if found is None:
            ground: Ground = "default" if limit is None else "limit"
            most = self._unlearned * choices if limit is None else limit
            return Need(bound, most, min(_LIKELY * choices, most), most, cached, ground, most)
        stream, place = found
        bounded, middle, high = stream.figures()
        learned, usual = _with_slack(bounded) * choices, ceil(high) * choices
        likely = ceil(middle) * choices
        if limit is None:
            return Need(bound, learned, likely, learned, cached, _GROUNDS[place], learned, usual)
        return Need(
            bound,
            learned if learned < limit else limit,
            likely if likely < limit else limit,
            limit,
            cached,
            _GROUNDS[place],
            learned,
            usual,
            limit > _OVERSIZED * usual and traits.max_tokens is not None,
        )

    def latency(self, call: SubCall) -> Latency | None:
        """Return how long *call* will take; None until 20 calls of its model were timed."""
        return self._times.latency(call)

    def past(self, call: SubCall) -> Past:
        """Return what calls like *call* came to, where there were five; see ``Predictor``."""
        found = self._outputs.find(_key(call), FEW)
        outputs = () if found is None else tuple(found[0].recent)
        return Past(outputs, *self._times.past(call, FEW), self._inputs.usual(call))

    def record(self, call: SubCall, need: Need, usage: Usage, timing: Timing | None = None) -> Fit:
        """Take in what *call* used, for which *need* was said; return how the two compare.

        Give it counts of the provider's only, of answers that came to their end.
        """
        self._inputs.record(call, need, usage)
        key = _key(call)
        missed = usage.output_tokens > need.output
        share = None
        if need.usual:
            stream = self._outputs.at(key, _GROUNDS.index(need.ground))
            if stream is not None:
                stream.adapt(missed=missed)
                share = stream.share
        self._outputs.record(key, -(-usage.output_tokens // call.traits.choices))
        if timing is not None:
            self._times.record(call, usage.output_tokens, timing)
        return Fit(
            usage.input_tokens > need.input,
            missed,
            need.input + need.output,
            usage.input_tokens + usage.output_tokens,
            share,
            need.ground,
        )


def _key(call: SubCall) -> Key:
    """Return what kind of call *call* is.

    Those that are allowed little are apart: what they were cut off at says nothing of the rest.
    """
    traits = call.traits
    room = bisect_left(_ROOM, traits.max_tokens or inf)
    shape = (traits.tools, traits.schema, traits.thinking, room)
    return (call.model, call.role, call.use, *shape)


def _wider(key: Key) -> tuple[Key, Key]:
    return key[:2], key[:1]


def _limit(call: SubCall) -> int | None:
    """Return the most output that all choices of *call* can have, None if nobody says."""
    allowed, given = call.traits.max_tokens, call.most_output
    if allowed is None or (given is not None and given < allowed):
        allowed = given
    return None if allowed is None else allowed * call.traits.choices


def _with_slack(bound: float) -> int:
    """Return *bound* and a little: calls that were all alike do not promise the next to be so."""
    return ceil(bound + (bound / _SLACK if bound > _SLACK * _LEAST_SLACK else _LEAST_SLACK))
