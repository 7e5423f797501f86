"""What the gateway is without a file: a simulation, and the providers whose keys are at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_EMBED = {"input": "0.02", "output": "0"}
_SMALL = {"input": "0.10", "output": "0.40"}
_LARGE = {"input": "1.00", "output": "4.00"}
_OPENAI = "https://api.openai.com/v1"
_OPENAI_NAMES = ("gpt-*", "chatgpt-*", "o1*", "o3*", "o4*", "text-embedding-*")
_ANTHROPIC = "https://api.anthropic.com"


def embedded(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the embedded configuration, as a file would hold it.

    ``OPENAI_API_KEY`` adds the models ``gpt-*``, ``chatgpt-*``, ``o1*``, ``o3*``, ``o4*`` and
    ``text-embedding-*``, ``ANTHROPIC_API_KEY`` adds ``claude-*``. ``OPENAI_BASE_URL`` and
    ``ANTHROPIC_BASE_URL`` move them, to this machine too; every other name is then a model at
    ``OPENAI_BASE_URL``, for nobody knows what such a host calls its models. Their prices are those
    of the shipped table, and at another host unknown. The judge of the simulation judges only the
    simulation: a technique on another model judges with that model.
    """
    providers: dict[str, Any] = {
        "simulated": {"dialect": "openai_chat", "simulated": {"seed": 0}},
    }
    models: list[dict[str, Any]] = [
        {"name": "sim-small", "provider": "simulated", "price": _SMALL},
        {"name": "sim-large", "provider": "simulated", "price": _LARGE},
        {
            "name": "sim-embed",
            "provider": "simulated",
            "price": _EMBED,
            "capabilities": {"embeddings": True},
        },
    ]
    if key := environment.get("OPENAI_API_KEY"):
        given = environment.get("OPENAI_BASE_URL")
        providers["openai"] = _account("openai_chat", given or _OPENAI, key, own=bool(given))
        names = ("*",) if given else _OPENAI_NAMES
        models += [{"name": name, "provider": "openai"} for name in names]
    if key := environment.get("ANTHROPIC_API_KEY"):
        given = environment.get("ANTHROPIC_BASE_URL")
        providers["anthropic"] = _account("anthropic", given or _ANTHROPIC, key, own=bool(given))
        models += [{"name": "claude-*", "provider": "anthropic"}]
    return {
        "providers": providers,
        "models": models,
        "reliability": {"judge": "sim-large"},
    }


def _account(dialect: str, base_url: str, key: str, *, own: bool) -> dict[str, Any]:
    return {"dialect": dialect, "base_url": base_url, "api_key": key, "allow_private": own}
