"""Settings that several APIs have, each by a name or in words of its own.

A host of OpenAI's dialects is told of those that it is known to take: many refuse a body with a
field that they do not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

from gateway.upstream.searching import OPTIONS
from techniques.core.json import Json
from techniques.core.request import Request

_TIER: Final = "service_tier"
_WHO: Final = "safety_identifier"
_CACHING: Final = "prompt_cache_options"
CACHE_MARKS: Final = "cache_control"
"""The field of a part by which a client of Anthropic's marks what is to be cached."""
OF_BOTH: Final = frozenset(
    {
        *("moderation", "prompt_cache_breakpoint", "prompt_cache_key", _CACHING),
        *("prompt_cache_retention", _WHO, _TIER),
    }
)
"""What OpenAI's two APIs have under one name, with one meaning; the second in parts of turns."""
_OPENAIS: Final = OF_BOTH | {"verbosity"}
_SEARCH: Final = frozenset({OPTIONS})
_TAKEN: Final[Mapping[str, frozenset[str]]] = {
    "openai": _OPENAIS | _SEARCH,
    "azure": _OPENAIS,
    "mistral": frozenset({"prompt_cache_key"}),
    "openrouter": frozenset({CACHE_MARKS, "top_k", "verbosity", "prompt_cache_key", _TIER}),
}
"""By vendor, what its chat completions take of this.

Source: developers.openai.com/api/reference (chat completions);
learn.microsoft.com/azure/foundry/reference/rest (chat completions);
docs.mistral.ai (prompt caching); openrouter.ai/docs (chat completions, prompt caching).
"""
_THOUGHTS: Final = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
_REFUSED: Final[Mapping[str, frozenset[str]]] = {
    "openai": _THOUGHTS,
    "azure": _THOUGHTS,
    "groq": _THOUGHTS - {"reasoning"},
    "cerebras": _THOUGHTS - {"reasoning"},
}
"""By vendor, where reasoning of earlier turns is an error, as is all that it does not know.

Source: developers.openai.com/api/reference (chat completions); console.groq.com/docs/api-reference;
inference-docs.cerebras.ai (reasoning).
"""
_OPENAIS_OWN: Final = re.compile(r"gpt-(?!oss)|chatgpt-|codex-|o[134](?![a-z0-9])")
_TO_ANTHROPIC: Final = {"default": "standard_only"}
_FROM_ANTHROPIC: Final = {"standard_only": "default"}
_SAYS_NOTHING: Final[Mapping[str, tuple[Json, ...]]] = {
    _TIER: ("auto",),
    "store": (False,),
    "metadata": ({},),
    "modalities": ([], ["text"]),
    "logit_bias": ({},),
    "speed": ("standard",),
    "verbosity": ("medium",),
}
"""Values that ask for what is done anyway, wherever."""
_SHOWN: Final = frozenset({"summary", "generate_summary"})
"""How reasoning is to be told, in Responses: what can be read of it is always shown."""
_OURS: Final = "stream_options"
"""How a stream is written, which to a client of another API the gateway does."""


def taken_by(vendor: str) -> frozenset[str]:
    """Return the fields that chat completions of *vendor* are known to take beside the usual."""
    return _TAKEN.get(vendor, frozenset())


def refused_by(vendor: str, model: str) -> frozenset[str]:
    """Return the fields of a turn that hold its reasoning and that *vendor* refuses.

    OpenAI's own *model* is known by its name, whoever stands between.
    """
    if _OPENAIS_OWN.match(model):
        return _THOUGHTS
    return _REFUSED.get(vendor, frozenset())


def is_sources(name: str, value: Json) -> bool:
    """Tell whether the field *name* of an earlier answer names its sources.

    No vendor's model is told of them again: what was found is in the text.
    """
    return name in {"annotations", "citations"} and isinstance(value, list)


def is_openais(takes: Collection[str]) -> bool:
    """Tell whether a host is OpenAI's or Azure's, by what it *takes*."""
    return _OPENAIS.issubset(takes)


def translated(
    request: Request, dialect: str, takes: Collection[str], drop: Callable[[str, str], None]
) -> Request:
    """Return *request* with its further fields in the words of *dialect*, whose host *takes* some.

    What asks for nothing is left out; what the host does not take stays, for its codec to name as a
    loss. *drop* is told of a value that cannot be said.

    Raises:
        RequestRejected: The request is strict.
    """
    if request.dialect in {"", dialect}:
        return request
    extra = {n: value for n, value in _flat(request.extra).items() if _asks(n, value)}
    if _TIER in extra:
        tier = _tier(extra.pop(_TIER), request.dialect, dialect)
        if tier is None:
            drop("field_dropped", _TIER)
        elif tier != "default" or _TIER in takes:  # a host without tiers serves everybody so
            extra[_TIER] = tier
    if not _lasts_here(extra.get(_CACHING), dialect):
        drop("field_dropped", _CACHING)
        del extra[_CACHING]
    user = request.user
    if user is None and _WHO not in takes and isinstance(extra.get(_WHO), str):
        user = extra.pop(_WHO)
    return replace(request, extra=extra, user=user)


def _asks(name: str, value: Json) -> bool:
    """Tell whether the field *name* asks for anything of the provider."""
    if name == "reasoning" and isinstance(value, Mapping) and value.keys() <= _SHOWN:
        return False
    return value is not None and name != _OURS and value not in _SAYS_NOTHING.get(name, ())


def _flat(extra: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return *extra* with the wish for more or fewer words where chat completions have it."""
    form = extra.get("text")
    if not isinstance(form, Mapping) or form.keys() != {"verbosity"}:
        return extra
    return {**{name: extra[name] for name in extra if name != "text"}, **form}


def _tier(tier: Json, own: str, dialect: str) -> Json:
    """Return the *tier* of one dialect in the words of another, None if it has none for it."""
    if "anthropic" not in {own, dialect}:
        return tier
    words = _FROM_ANTHROPIC if own == "anthropic" else _TO_ANTHROPIC
    return words.get(tier) if isinstance(tier, str) else None


def _lasts_here(caching: Json, dialect: str) -> bool:
    """Tell whether *caching* can be said in *dialect*: of the two, Responses knows more."""
    if dialect != "openai_chat" or not isinstance(caching, Mapping):
        return True
    return caching.keys() <= {"mode", "ttl"} and caching.get("ttl") != "12h"
