"""agentpause's estimator: a fixed formula, corrected by the mean of its last errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean, pstdev
from typing import Final

from techniques.core.json import Json

_KEPT: Final = 200
_FEW: Final = 4
_UNSURE: Final = 0.27
_QUANTILE_LEAST: Final = 8
_QUANTILE_OF: Final = 30
_FLOOR: Final = 10.0
_PART: Final = 0.1


@dataclass(frozen=True, slots=True)
class Terms:
    """What an estimate is made of, in tokens; windows count calls.

    ``phase_window`` None: a change of phase is not looked for.
    """

    max_tokens: int = 650
    tool_overhead: int = 280
    error_window: int = 6
    min_estimate: int = 200
    phase_window: int | None = 8
    phase_threshold: float = 2.0


DEFAULT: Final = Terms()


class Estimator:
    """Estimates the tokens of a call from those of its input.

    Source: agentpause 0.5.0, ``Estimator``.
    """

    __slots__ = ("_errors", "_realized", "terms")

    def __init__(self, terms: Terms = DEFAULT) -> None:
        self.terms = terms
        self._errors: list[float] = []
        self._realized: list[float] = []

    @property
    def samples(self) -> int:
        """How many errors it goes by."""
        return len(self._errors)

    def formula(self, tokens: int) -> int:
        """Return the estimate for an input of *tokens*, before any correction."""
        return tokens + self.terms.max_tokens + self.terms.tool_overhead

    def correction(self) -> int:
        """Return what the formula was short of lately; 0 without history."""
        last = self._errors[-self.terms.error_window :]
        return int(fmean(last)) if last else 0

    def estimate(self, tokens: int) -> int:
        """Return the tokens that a call with an input of *tokens* will use."""
        return max(self.terms.min_estimate, self.formula(tokens) + self.correction())

    def sigma(self, estimate: float) -> float:
        """Return the standard deviation of *estimate*, in tokens."""
        return pstdev(self._errors) if len(self._errors) >= _FEW else _UNSURE * estimate

    def upper(self, tokens: int, share: float = 0.95, window: int = _QUANTILE_OF) -> int | None:
        """Return what *share* of the last *window* calls would not have passed with this input.

        None below 8 errors; below about 20 it is the largest.
        """
        if len(self._errors) < _QUANTILE_LEAST:
            return None
        last = sorted(self._errors[-window:])
        error = last[max(ceil(share * len(last)) - 1, 0)]
        return int(max(self.terms.min_estimate, self.formula(tokens) + error))

    def record(self, tokens: int, realized: int) -> None:
        """Take in that a call with an input of *tokens* used *realized* in all."""
        self._errors.append(realized - self.formula(tokens))
        self._realized.append(realized)
        del self._realized[:-_KEPT]
        window = self.terms.phase_window
        if window is not None and _shifted(self._errors, window, self.terms.phase_threshold):
            del self._errors[:-window]

    def state(self) -> dict[str, Json]:
        """Return what a later estimator needs to go on: the last 200 calls."""
        return {"errors": self._errors[-_KEPT:], "realized": self._realized.copy()}

    def restore(self, state: Mapping[str, Json]) -> None:
        """Go on where the estimator was that gave *state*."""
        self._errors = list(state.get("errors", ()))
        self._realized = list(state.get("realized", ()))


def _shifted(errors: Sequence[float], window: int, threshold: float) -> bool:
    """Return whether the last *window* errors are steady, and far from those before."""
    if len(errors) < 2 * window:
        return False
    before, now = errors[-2 * window : -window], errors[-window:]
    was, mean = fmean(before), fmean(now)
    scale = max(pstdev(before), _PART * abs(was), _FLOOR)
    steady = pstdev(now) <= threshold * max(_PART * abs(mean), _FLOOR)
    return steady and abs(mean - was) > threshold * scale
