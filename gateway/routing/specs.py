"""What a router is told of models: how far they are like others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from gateway.policy.models import Model
from pricing.names import billions, family
from router_service.contract import ModelSpec

_BITS: Final = re.compile(
    r"(?<![a-z0-9])(?:i?q\d(?:_[a-z0-9]+)*|int[48]|fp(?:8|16|32)|bf16|awq|gptq|\dbit)(?![a-z0-9])"
)


@lru_cache(maxsize=512)
def spec_of(name: str) -> ModelSpec:
    """Return what the provider's *name* of a model says of it."""
    found = _BITS.search(name.lower())
    return ModelSpec(
        family=family(name) or "unknown",
        params_b=billions(name),
        quantization=found[0] if found else "",
    )


def pool_of(models: Iterable[Model]) -> tuple[ModelSpec, ...]:
    """Return what is told of *models*, each once."""
    return tuple(dict.fromkeys(spec_of(one.target.model) for one in models))
