"""Randomness that depends on nothing but what was hashed, so that every run can be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Independent draws, one for each label, all determined by the *facts* given."""

    __slots__ = ("_state",)

    def __init__(self, *facts: str | bytes | int | float | None) -> None:
        state = blake2b(digest_size=16)
        for fact in facts:
            raw = fact if isinstance(fact, bytes) else repr(fact).encode("utf-8", "surrogatepass")
            state.update(b"%d:" % len(raw) + raw)
        self._state = state.digest()

    def fork(self, label: str) -> Dice:
        """Return dice of their own for what *label* names."""
        return Dice(self._state, label)

    def bits(self, label: str) -> int:
        """Return 64 random bits."""
        raw = blake2b(label.encode("utf-8", "surrogatepass"), key=self._state, digest_size=8)
        return int.from_bytes(raw.digest(), "big")

    def fraction(self, label: str) -> float:
        """Return a number from [0, 1), evenly distributed."""
        return (self.bits(label) >> 11) / (1 << 53)

    def happens(self, label: str, probability: float) -> bool:
        """Tell whether something of that *probability* happens."""
        return self.fraction(label) < probability

    def pick(self, label: str, options: Sequence[T]) -> T:
        """Return one of *options*, each as likely as the other."""
        return options[self.bits(label) % len(options)]

    def leaning(self, label: str, options: Sequence[T]) -> T:
        """Return one of *options*, the earlier ones more likely: the first thrice the last."""
        weights = [1.0 + 2.0 * (len(options) - i - 1) / len(options) for i in range(len(options))]
        point = self.fraction(label) * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            point -= weight
            if point < 0:
                return option
        return options[-1]

    def text(self, label: str, length: int) -> str:
        """Return *length* (at most 32) random hexadecimal digits."""
        return blake2b(label.encode(), key=self._state, digest_size=16).hexdigest()[:length]
