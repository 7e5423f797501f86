"""How many tokens a call used."""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

from pricing.record import record

_MOST: Final = 2**32
"""More tokens than any call can have: a count beyond is a fault of the provider's."""


def counted(value: Any) -> int:
    """Return the token count that a provider's *value* is, 0 if it is none that can be."""
    if type(value) is int:
        return value if 0 < value <= _MOST else 0
    if isinstance(value, float) and isfinite(value):
        return counted(int(value))
    return 0


def is_count(value: Any) -> bool:
    """Return whether *value* is a token count that can be; where it is not, 0 stands for it."""
    if type(value) is int:
        return 0 <= value <= _MOST
    return isinstance(value, float) and isfinite(value) and is_count(int(value))


@record(frozen=True, slots=True)
class Usage:
    """Token counts of one or more calls; counts add up, so usages can be summed.

    Names follow OpenTelemetry's ``gen_ai.usage``. ``input_tokens`` is the whole input:
    ``cache_read_tokens``, ``cache_write_tokens`` (kept five minutes), ``cache_write_1h_tokens``,
    ``audio_input_tokens`` and ``image_input_tokens`` are parts of it. ``reasoning_tokens``,
    ``audio_output_tokens`` and ``image_output_tokens`` are parts of ``output_tokens``. ``images``
    are pictures that were sent, where each is charged for. ``faulty``: a count was told that none
    can be (negative, endless), and 0 stands for it, so that there may have been more.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    audio_input_tokens: int = 0
    audio_output_tokens: int = 0
    image_input_tokens: int = 0
    image_output_tokens: int = 0
    images: int = 0
    faulty: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cache_write_1h_tokens + other.cache_write_1h_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.audio_input_tokens + other.audio_input_tokens,
            self.audio_output_tokens + other.audio_output_tokens,
            self.image_input_tokens + other.image_input_tokens,
            self.image_output_tokens + other.image_output_tokens,
            self.images + other.images,
            self.faulty or other.faulty,
        )

    @property
    def is_nothing(self) -> bool:
        """Whether nothing was used, and that is sure."""
        return not (
            self.input_tokens
            or self.output_tokens
            or self.cache_read_tokens
            or self.cache_write_tokens
            or self.cache_write_1h_tokens
            or self.reasoning_tokens
            or self.audio_input_tokens
            or self.audio_output_tokens
            or self.image_input_tokens
            or self.image_output_tokens
            or self.images
            or self.faulty
        )

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens
