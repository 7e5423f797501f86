"""What is measured of a server, so that its contents are moved only where that is quicker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.upstream.llama_cpp.told import Moved

_WEIGHT: Final = 0.3
_PROVISIONAL_S: Final = 5.0
_LEAST_FREE: Final = 500 * 10**6
_BLOBS_FREE: Final = 5
_FEW: Final = 16
"""So few tokens of a prompt tell nothing of how fast prompts are read."""


@dataclass(slots=True)
class Pace:
    """Speeds, None until they are known. What was stated is never replaced by what is measured.

    Attributes:
        bytes_per_token: Of contents on disk or on a card.
        save_s: What to allow for saving a slot, in seconds.
        min_free: Bytes that must stay free on the disk; 0: nobody looks.
    """

    bytes_per_token: float | None = None
    save_s: float | None = None
    min_free: int | None = None
    _prefill: float | None = None
    _restore: float | None = None
    _save: float | None = None
    _largest: int = 0
    _states_bytes: bool = False
    _states_time: bool = False

    def __post_init__(self) -> None:
        self._states_bytes = self.bytes_per_token is not None
        self._states_time = self.save_s is not None

    @property
    def reserve_s(self) -> float:
        """Seconds to keep for saving a slot before a deadline."""
        return _PROVISIONAL_S if self.save_s is None else self.save_s

    @property
    def wanted_free(self) -> int:
        """Bytes that must be free before a slot is saved."""
        if self.min_free is not None:
            return self.min_free
        return max(_LEAST_FREE, _BLOBS_FREE * self._largest)

    def saved(self, moved: Moved, seconds: float) -> None:
        """Learn of a slot that was saved in *seconds*, all told."""
        self._largest = max(self._largest, moved.size)
        self._save = _towards(self._save, seconds / max(moved.size, 1))
        if not self._states_bytes and moved.tokens and moved.size:
            self.bytes_per_token = moved.size / moved.tokens
        if not self._states_time:
            self.save_s = max(self.save_s or 0.0, seconds)

    def restored(self, moved: Moved, seconds: float) -> None:
        """Learn of a slot that was restored in *seconds*, all told."""
        self._restore = _towards(self._restore, seconds / max(moved.size, 1))

    def read(self, tokens: int, seconds: float) -> None:
        """Learn of *tokens* of a prompt that were computed in *seconds*."""
        if tokens >= _FEW and seconds > 0:
            self._prefill = _towards(self._prefill, tokens / seconds)

    def prefill_s(self, tokens: int) -> float | None:
        """Return how long *tokens* of a prompt take to compute, None if that is not known."""
        return None if self._prefill is None else tokens / self._prefill

    def is_worth_restoring(self, tokens: int, size: int) -> bool:
        """Return whether restoring is quicker than computing; also where nothing is known yet."""
        anew = self.prefill_s(tokens)
        per_byte = self._save if self._restore is None else self._restore
        return anew is None or per_byte is None or anew > per_byte * size

    def is_worth_saving(self, tokens: int) -> bool:
        """Return whether to save and restore is quicker than computing, if it comes to that."""
        anew = self.prefill_s(tokens)
        if anew is None or self._save is None or self.bytes_per_token is None:
            return True
        back = self._save if self._restore is None else self._restore
        return anew > (self._save + back) * self.bytes_per_token * tokens


def _towards(known: float | None, measured: float) -> float:
    return measured if known is None else known + _WEIGHT * (measured - known)
