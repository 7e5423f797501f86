"""How the draws of one request differ: seed and temperature, never the words before the answer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from techniques.core.channel import Member
from techniques.core.masks import takes_temperature
from techniques.core.request import Request

Temperatures: TypeAlias = float | tuple[float, ...] | None
"""That of all draws but the first, or those of them in turn; None for the client's own."""

_SEED_BITS: Final = 31  # the most that every provider takes as a positive number


@dataclass(frozen=True, slots=True)
class Spread:
    """What makes the draws of one run differ; without a temperature that stays the client's.

    Of several temperatures each further draw takes the next, and all others the last.
    """

    technique: str
    seed: int
    temperature: Temperatures

    def draw(self, request: Request, member: Member, place: int) -> Request:
        """Return *request* as draw *place* for *member*.

        Draw 0 keeps the client's own settings. A model whose temperature cannot be set, as none
        can while it thinks, keeps its own.
        """
        sampling, able = request.sampling, member.capabilities
        if place > 0:
            temperature, seed = self._at(place), sampling.seed
            if temperature is None or not takes_temperature(able, request.thinking):
                temperature = sampling.temperature
            if able.seed:
                seed = seed_of(self.seed, self.technique, place)
            sampling = replace(sampling, temperature=temperature, seed=seed)
        return replace(request, sampling=sampling, stream=False, role="candidate", step=f"c{place}")

    def _at(self, place: int) -> float | None:
        if isinstance(self.temperature, tuple):
            return self.temperature[min(place, len(self.temperature)) - 1]
        return self.temperature


def seed_of(seed: int, technique: str, place: int) -> int:
    """Return the seed of draw *place*: the run's own at 0, unrelated ones after it."""
    if place == 0:
        return seed
    digest = hashlib.blake2b(f"{seed}:{technique}:{place}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - _SEED_BITS)
