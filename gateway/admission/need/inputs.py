"""How many tokens an input is, learned from what providers counted before."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from math import ceil, sqrt
from statistics import fmean, stdev
from typing import Final

from gateway.admission.need.stream import EVERY, Stream
from gateway.admission.need.streams import Key, Streams
from gateway.admission.need.value import Need, SubCall
from pricing.usage import Usage

_UNLEARNED: Final = 0.5
"""Tokens a byte, twice the four bytes a token of ordinary English."""

_FEW: Final = 4
_STUDENT: Final = (
    *(4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764),
    *(2.718, 2.681, 2.650, 2.624, 2.602, 2.583, 2.567, 2.552),
)
"""99 % quantiles of Student's t, from 3 degrees of freedom on."""
_LEAST_ROOM: Final = 1.02

_FRAME: Final = 32
"""Tokens that any request may cost beside its bytes, while nothing is learned."""

_IMAGE: Final = 1600
_SOUND: Final = 3000
_MISSED: Final = 0.01
_SIZES: Final = (1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 17)
_PREFIXES: Final = 1000
_CACHED_FOR_S: Final = 240.0
"""Providers keep a prefix for five minutes after it was read; one is spared for doubt."""


class Inputs:
    """Bounds input tokens by their ratio to bytes, by model and kind of content.

    Of images and sounds, whose size says nothing, each counts as much as the largest of late, or
    *image* and *sound* tokens until one was seen.
    """

    __slots__ = ("_largest", "_prefixes", "_ratios", "image", "sound")

    def __init__(self, image: int = _IMAGE, sound: int = _SOUND) -> None:
        self.image = image
        self.sound = sound
        self._ratios = Streams(_wider, lambda: Stream(_MISSED, every=2 * EVERY))
        self._largest: dict[tuple[str, str], Stream] = {}
        self._prefixes: OrderedDict[tuple[str, int], tuple[int, float]] = OrderedDict()

    def bound(self, call: SubCall) -> int:
        """Return what the input of *call* is hardly ever more than, in tokens; at least 1."""
        traits = call.traits
        found = self._ratios.find(_kind(call))
        if found is None:
            text = ceil(traits.text_bytes * self._guessed(call)) + _FRAME
        else:
            text = ceil(traits.text_bytes * found[0].figures()[0]) + 1
        return text + self._media(call) if traits.images or traits.sounds else text

    def _guessed(self, call: SubCall) -> float:
        """Return the most tokens a byte by too few calls for a bound that always holds.

        Source: the prediction interval of a normal sample, as in Hahn and Meeker 1991,
        "Statistical Intervals".
        """
        few = self._ratios.find(_kind(call), _FEW)
        if few is None:
            return _UNLEARNED
        ratios = few[0].recent
        number = len(ratios)
        student = _STUDENT[min(number - _FEW, len(_STUDENT) - 1)]
        bound = fmean(ratios) + student * stdev(ratios) * sqrt(1 + 1 / number)
        return min(_UNLEARNED, max(bound, _LEAST_ROOM * max(ratios)))

    def usual(self, call: SubCall) -> float | None:
        """Return the tokens for each byte that half of the calls like *call* stay below."""
        found = self._ratios.find(_kind(call), _FEW)
        return None if found is None else found[0].figures()[1]

    def cached(self, call: SubCall) -> int:
        """Return how much of *call*'s input will be read from the provider's cache, as before.

        0 unless the last call with this beginning had a hit, four minutes ago at most.
        """
        prefix = call.traits.prefix
        known = self._prefixes.get((call.model, prefix)) if prefix is not None else None
        return known[0] if known is not None and call.at_s - known[1] <= _CACHED_FOR_S else 0

    def record(self, call: SubCall, need: Need, usage: Usage) -> None:
        """Take in what *call* used of input."""
        if usage.input_tokens <= 0:
            return
        traits = call.traits
        if traits.images or traits.sounds:
            self._record_media(call, usage.input_tokens)
        elif traits.text_bytes:
            kind = _kind(call)
            found = self._ratios.find(kind)
            if found is not None:
                found[0].adapt(missed=usage.input_tokens > need.input)
            self._ratios.record(kind, usage.input_tokens / traits.text_bytes)
        if traits.prefix is not None:
            self._record_prefix((call.model, traits.prefix), usage.cache_read_tokens, call.at_s)

    def _media(self, call: SubCall) -> int:
        traits = call.traits
        image = self._most(call.model, "image", self.image) * traits.images
        return image + self._most(call.model, "sound", self.sound) * traits.sounds

    def _most(self, model: str, kind: str, unseen: int) -> int:
        stream = self._largest.get((model, kind))
        return unseen if stream is None else ceil(stream.largest())

    def _record_media(self, call: SubCall, tokens: int) -> None:
        """Note what an image or a sound came to; of both together it cannot be told."""
        traits = call.traits
        if traits.images and traits.sounds:
            return
        found = self._ratios.find(_kind(call))
        ratio = found[0].figures()[1] if found is not None else _UNLEARNED / 2
        kind = "image" if traits.images else "sound"
        rest = tokens - traits.text_bytes * ratio
        each = max(rest, 1) / (traits.images + traits.sounds)
        largest = self._largest.setdefault((call.model, kind), Stream())
        largest.record(each)

    def _record_prefix(self, key: tuple[str, int], hit: int, at_s: float) -> None:
        """Keep the smallest hit since the last miss: calls that begin alike may part early."""
        prefixes = self._prefixes
        known = prefixes.pop(key, None)
        if hit <= 0:
            return
        prefixes[key] = (hit if known is None else min(hit, known[0]), at_s)
        if len(prefixes) > _PREFIXES:
            prefixes.popitem(last=False)


def _kind(call: SubCall) -> Key:
    """Return what kind of content *call* is, by model, form and size.

    Small requests have more tokens a byte, as each costs some that are none of its text's.
    """
    traits = call.traits
    size = bisect_right(_SIZES, traits.text_bytes)
    return (call.model, traits.framed, size, traits.tools, traits.schema)


def _wider(key: Key) -> tuple[Key, Key]:
    return key[:3], key[:2]
