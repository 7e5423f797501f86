"""When a technique must give way to a plain call, because the request has what it cannot keep."""

from __future__ import annotations

from techniques.core.capabilities import Capabilities
from techniques.core.registry import Modality
from techniques.core.request import Request, ThinkingWish


def masked(modality: Modality, request: Request, able: Capabilities) -> str | None:
    """Return what of *request*, which a model that is so *able* answers, a technique cannot keep.

    None if it can keep everything. Sound that is to come back is for plain calls only.
    """
    sampling = request.sampling
    lost = {
        "n > 1": sampling.n > 1 and modality.many == "plain",
        "logprobs": sampling.logprobs and modality.logprobs == "plain",
        "fixed temperature": not takes_temperature(able, request.thinking)
        and modality.fixed == "plain",
        "tools": bool(request.tools) and modality.tools == "plain",
        "response_format": request.response_format is not None and modality.json == "plain",
        "audio": speaks(request),
    }
    return next((what for what, is_lost in lost.items() if is_lost), None)


def takes_temperature(able: Capabilities, thinking: ThinkingWish | None) -> bool:
    """Tell whether a model that is so *able* lets a request with *thinking* set a temperature."""
    thinks = able.thinking if thinking is None else thinking.thinks
    return able.temperature and not thinks


def speaks(request: Request) -> bool:
    """Tell whether the answer to *request* is to be sound."""
    modalities = request.extra.get("modalities")
    return "audio" in request.extra or (isinstance(modalities, list) and "audio" in modalities)
