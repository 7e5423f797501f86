"""What the gateway is without a file: a simulation, and the providers whose keys are at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SMALL = {"input": "0.10", "output": "0.40"}
_LARGE = {"input": "1.00", "output": "4.00"}


def embedded(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the embedded configuration, as a file would hold it.

    ``OPENAI_API_KEY`` adds the models ``gpt-*``, ``chatgpt-*``, ``o1*``, ``o3*`` and ``o4*``,
    ``ANTHROPIC_API_KEY`` adds ``claude-*``. Prices of these are unknown. The judge of the
    simulation judges only the simulation: a technique on another model judges with that model.
    """
    providers: dict[str, Any] = {
        "simulated": {"dialect": "openai_chat", "simulated": {"seed": 0}},
    }
    models: list[dict[str, Any]] = [
        {"name": "sim-small", "provider": "simulated", "price": _SMALL},
        {"name": "sim-large", "provider": "simulated", "price": _LARGE},
    ]
    if key := environment.get("OPENAI_API_KEY"):
        base_url = environment.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
        providers["openai"] = {"dialect": "openai_chat", "base_url": base_url, "api_key": key}
        names = ("gpt-*", "chatgpt-*", "o1*", "o3*", "o4*")
        models += [{"name": name, "provider": "openai"} for name in names]
    if key := environment.get("ANTHROPIC_API_KEY"):
        base_url = environment.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com")
        providers["anthropic"] = {"dialect": "anthropic", "base_url": base_url, "api_key": key}
        models += [{"name": "claude-*", "provider": "anthropic"}]
    return {
        "providers": providers,
        "models": models,
        "reliability": {"judge": "sim-large"},
    }
