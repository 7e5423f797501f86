"""How many answers a technique is to give, where the client asks for more than one."""

from __future__ import annotations

from typing import Final

from techniques.core.errors import RequestRejected
from techniques.core.registry import Modality
from techniques.core.request import Request

MOST: Final = 128


def choices_of(request: Request, modality: Modality, policy: str | None) -> int:
    """Return how many answers to *request* a technique of that *modality* gives by *policy*.

    1: it gives one, and whoever wants more cannot have it. A technique that ranks gives the best
    answers that differ; any can be carried out again.

    Raises:
        RequestRejected: These are more than can be given.
    """
    wanted = request.sampling.n
    if not (policy == "repeat" or (policy == "rank" and modality.ranks)):
        return 1
    if wanted > MOST:
        raise RequestRejected(f"n must be at most {MOST}.", code="invalid_value", param="n")
    return wanted
