"""What is known of a model: stated by the operator, or inferred from its host and its id."""

from __future__ import annotations

import re
from typing import Any

from gateway.admission.limits import vendor_of
from gateway.config import ModelConfig, ProviderConfig
from gateway.config.thinking import ThinkingConfig
from gateway.upstream.families import thinks_of
from gateway.upstream.provider import Target
from gateway.upstream.shared import refused_by, taken_by
from gateway.upstream.simulated.settings import EMBEDDERS
from gateway.upstream.thinking import Thinks
from techniques.core.capabilities import Capabilities
from techniques.core.request import ThinkingWish

_OFF = ThinkingWish("off")
_EMBEDS = re.compile(r"(?:.*/)?text-embedding-")
"""How OpenAI calls all its models that make embeddings."""
_SEEDLESS = frozenset({"anthropic", "openai_responses"})
"""The dialects that have no seed: a technique gives its draws none, which would only be lost."""
_OLDER_LIMIT = re.compile(
    r"mistral\.ai|deepseek\.com|cohere\.|perplexity\.ai|together\.|moonshot\.|api\.z\.ai|bigmodel\.cn"
    r"|dashscope|siliconflow|deepinfra\.com|ollama\.com|:11434"
)
"""Hosts whose only documented name of the output limit is ``max_tokens``."""
_BILLS = "openrouter"
"""The host that tells with each answer what it charges for it."""


def target_of(row: ModelConfig, account: ProviderConfig, model: str) -> Target:
    """Return the provider's *model* as *row* at *account* configures it."""
    style = row.thinking_style or account.thinking_style
    thinks = thinks_of(model, account.dialect, account.base_url, style)
    wish = _wish(row.thinking, thinks)
    stated = _stated(row, account)
    vendor = vendor_of(account.vendor, account.base_url, account.dialect).name
    if account.simulated is not None and model in EMBEDDERS:
        stated.setdefault("embeddings", True)
    return Target(
        name=row.name,
        provider=row.provider,
        model=model,
        capabilities=Capabilities(**_inferred(model, thinks, wish) | stated),
        stated=Capabilities(**stated),
        thinks=thinks,
        thinking=wish,
        steered=row.thinking is not None or style is not None,
        split_thinking=row.think_tags == "split",
        idempotent=account.idempotent,
        bills=_bills(account),
        drops_hosted=(row.hosted_tools or account.hosted_tools) == "drop",
        takes=taken_by(vendor),
        refuses=refused_by(vendor, model),
    )


def _bills(account: ProviderConfig) -> bool:
    """Return whether *account* is one that tells what each call costs, and charges that."""
    if account.priced_as is not None:
        return account.priced_as == _BILLS
    return vendor_of(account.vendor, account.base_url, account.dialect).name == _BILLS


def _stated(row: ModelConfig, account: ProviderConfig) -> dict[str, Any]:
    """Return the capabilities that *row* states, or that go without saying at *account*."""
    dialect = account.dialect
    stated = row.capabilities.model_dump(exclude={"reasoning"}, exclude_unset=True)
    if row.capabilities.reasoning:
        stated |= {"temperature": False, "max_completion_tokens": True}
    if row.capabilities.reasoning or dialect == "anthropic":
        stated.setdefault("logprobs", False)
    if dialect == "openai_chat" and _OLDER_LIMIT.search(account.base_url.lower()):
        stated.setdefault("max_completion_tokens", False)
    if dialect in _SEEDLESS:
        stated.setdefault("seed", False)
    return stated


def _inferred(model: str, thinks: Thinks, wish: ThinkingWish | None) -> dict[str, bool | None]:
    """Return what *model* is likely to take that *thinks* so, and does for *wish* unasked."""
    on = thinks.unasked if wish is None else wish.thinks
    bars = on and thinks.sampling == "off"
    return {
        "temperature": thinks.sampling != "never",
        "max_completion_tokens": thinks.newer_limit or None,
        "logprobs": thinks.sampling != "never" and not bars,
        "thinking": bars,
        "embeddings": True if _EMBEDS.match(model) else None,
    }


def _wish(stated: ThinkingConfig | None, thinks: Thinks) -> ThinkingWish | None:
    """Return what to ask for when the caller says nothing: no thinking, if nothing is *stated*."""
    if stated is None:
        return _OFF if thinks.unasked and thinks.off else None
    if stated.enabled == "auto":
        return None
    if not stated.enabled:
        return _OFF
    return ThinkingWish("on", stated.budget_tokens, stated.effort)
