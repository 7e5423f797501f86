"""At which texts a host is asked to stop, and at which the gateway stops itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gateway.upstream.provider import Target
from gateway.upstream.shared import is_openais

_MOST: Final = 4
"""The stop texts that OpenAI takes."""


def parted(stops: Sequence[str], target: Target) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return those of *stops* that the host of *target* is told, and the others.

    OpenAI's reasoning models refuse any.
    Source: developers.openai.com/api/reference (chat completions, stop).
    """
    most = _MOST if is_openais(target.takes) else len(stops)
    most = 0 if target.thinks.newer_limit else most
    return tuple(stops[:most]), tuple(stops[most:])
