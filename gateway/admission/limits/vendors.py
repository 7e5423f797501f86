"""Whose limits mean what: the one table.

Sources, read in November 2026: developers.openai.com/api/docs/guides/rate-limits;
learn.microsoft.com/azure (foundry, quota); console.groq.com/docs/rate-limits;
platform.claude.com/docs/en (api/rate-limits, api/service-tiers, build-with-claude/fast-mode);
docs.mistral.ai; docs.together.ai/docs/serverless/rate-limits; docs.fireworks.ai/serverless;
openrouter.ai/docs (limits); ai.google.dev/gemini-api/docs/rate-limits; inference-docs.cerebras.ai
(support/rate-limits); api-docs.deepseek.com; draft-ietf-httpapi-ratelimit-headers, 03 to 11.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from gateway.admission.limits.rows import (
    DAY,
    HOUR,
    MINUTE,
    MONTH,
    Vendor,
    Window,
    anthropic_like,
    for_account,
    named,
    of_some_length,
    openai_like,
    spare,
)
from gateway.admission.reading import Dimension, Refill


def _spelled_out(refill: Refill) -> tuple[Window, ...]:
    counted: tuple[Dimension, ...] = ("requests", "tokens")
    return tuple(
        openai_like(dimension, f"{dimension}-{word}", period, refill)
        for dimension in counted
        for word, period in (("minute", MINUTE), ("hour", HOUR), ("day", DAY))
    )


_FIREWORKSES: Final[tuple[tuple[Dimension, str], ...]] = (
    ("requests", "requests"),
    ("input_tokens", "tokens-prompt"),
    ("input_tokens", "tokens-cache-adjusted-prompt"),
    ("output_tokens", "tokens-generated"),
)
_REQUESTS: Final = openai_like("requests", "requests", MINUTE)
_TOKENS: Final = openai_like("tokens", "tokens", MINUTE)

_OPENAI: Final = Vendor(
    "openai",
    hosts=("api.openai.com",),
    windows=(
        of_some_length(openai_like("requests", "requests", MINUTE, "bucket")),
        openai_like("tokens", "tokens", MINUTE, "bucket"),
        openai_like("tokens", "project-tokens", MINUTE, "bucket"),
        openai_like("requests", "project-requests", MINUTE, "bucket"),
        openai_like("tokens", "tokens_usage_based", MINUTE, "bucket"),
    ),
    marks=("openai-processing-ms",),
    charge="reserve_larger",
    failed_counts=True,
    traps="A reset is when the bucket is full, not when the next call fits. The smaller tiers show "
    "a day of requests under the names of a minute: told by how slowly it fills.",
)
_SLICE: Final = Window(
    "requests",
    MINUTE / 6,
    "x-ratelimit-limit-requests",
    reset="x-ratelimit-reset-requests",
    refill="fixed",
    part=6,
)
_AZURE: Final = Vendor(
    "azure",
    hosts=(".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"),
    windows=(
        openai_like("requests", "requests", MINUTE, "fixed"),
        _SLICE,
        openai_like("tokens", "tokens", MINUTE, "fixed"),
        Window("tokens", MINUTE, reset="x-rate-limit-reset-tokens", refill="fixed"),
    ),
    marks=("x-ms-region", "apim-request-id"),
    charge="reserve_max",
    traps="-1, or 0 without a limit, says nothing. Limits are held by slices of a minute, so a "
    "burst is refused while much is left. A quota is one deployment's.",
)
_GROQ: Final = Vendor(
    "groq",
    hosts=("api.groq.com",),
    windows=(
        openai_like("requests", "requests", DAY, "bucket"),
        openai_like("tokens", "tokens", MINUTE, "bucket"),
    ),
    marks=("x-groq-region",),
    charge="actual",
    cached_input_free=True,
    traps="Requests are a day's, tokens a minute's. Minutes of requests, days of tokens and "
    "minutes of input and output are limited too; only a refusal's words tell of them.",
)
_ANTHROPIC: Final = Vendor(
    "anthropic",
    hosts=("api.anthropic.com",),
    windows=(
        anthropic_like("ratelimit", "requests", "requests"),
        anthropic_like("ratelimit", "tokens", "tokens"),
        anthropic_like("ratelimit", "input-tokens", "input_tokens"),
        anthropic_like("ratelimit", "output-tokens", "output_tokens"),
        anthropic_like("fast", "input-tokens", "input_tokens"),
        anthropic_like("fast", "output-tokens", "output_tokens"),
        spare(anthropic_like("priority", "input-tokens", "input_tokens")),
        spare(anthropic_like("priority", "output-tokens", "output_tokens")),
    ),
    extra=("unified",),
    charge="actual",
    cached_input_free=True,
    traps="What is left of tokens is rounded to thousands. `tokens` are those of the tightest "
    "limit in force. Priority capacity that is used up refuses nothing, so it counts only where "
    "nothing else is told. Fast mode has limits of its own: give it a provider of its own. Of a "
    "subscription only the used part is told (`unified`), and what is full. 529 is no limit.",
)
_MISTRAL: Final = Vendor(
    "mistral",
    hosts=("api.mistral.ai", "codestral.mistral.ai"),
    windows=(
        openai_like("requests", "req-minute", MINUTE),
        openai_like("tokens", "tokens-minute", MINUTE),
        openai_like("tokens", "tokens-month", MONTH, "fixed"),
        named("tokens", MINUTE, "ratelimitbysize-{}"),
        named("tokens", MINUTE, "x-ratelimitbysize-{}-minute"),
        named("tokens", MONTH, "x-ratelimitbysize-{}-month", "fixed"),
    ),
    marks=(
        "x-ratelimit-limit-req-minute",
        "x-ratelimit-tokens-query-cost",
        "ratelimitbysize-limit",
    ),
    traps="No resets in the newer family. A limit of 0 is no allowance at all: waiting does not "
    "help. A refusal has the code 1300 and names nothing.",
)
_TOGETHER: Final = Vendor(
    "together",
    hosts=("api.together.xyz", "api.together.ai"),
    windows=(
        named("requests", 1, "x-ratelimit-{}"),
        named("requests", 1, "x-ratelimit-{}-dynamic"),
        named("tokens", 1, "x-tokenlimit-{}"),
        named("tokens", 1, "x-tokenlimit-{}-dynamic"),
    ),
    marks=("x-tokenlimit-limit", "x-together-traceid"),
    traps="Limits are a second's, and follow what was used lately. 503 says that the platform is "
    "full, not the caller's limit.",
)
_FIREWORKS: Final = Vendor(
    "fireworks",
    hosts=("api.fireworks.ai",),
    windows=tuple(
        for_account(openai_like(dimension, ending, MINUTE)) for dimension, ending in _FIREWORKSES
    ),
    marks=("x-ratelimit-limit-tokens-prompt", "x-ratelimit-over-limit"),
    traps="Limits grow and shrink with use. What is over a limit may be served all the same "
    "(`x-ratelimit-over-limit`). 503 is an overload, 412 a suspended account.",
)
_OPENROUTER: Final = Vendor(
    "openrouter",
    hosts=("openrouter.ai",),
    windows=(of_some_length(for_account(openai_like("requests", "", MINUTE, "fixed"))),),
    traps="Told for free models only, and in a refusal often inside its body. The reset is in "
    "milliseconds since 1970. Errors come under status 200, too.",
)
_GEMINI: Final = Vendor(
    "gemini",
    hosts=("generativelanguage.googleapis.com",),
    traps="No headers: a refusal's body names the quota, its size and its period. A day ends at "
    "midnight in California, whatever shorter delay is asked for.",
)
_CEREBRAS: Final = Vendor(
    "cerebras",
    hosts=("api.cerebras.ai",),
    windows=_spelled_out("fixed"),
    marks=("x-ratelimit-reset-tokens-minute",),
    charge="reserve_max",
    traps="A call is charged its input and its whole `max_completion_tokens` when it is let in.",
)
_DEEPSEEK: Final = Vendor(
    "deepseek",
    hosts=("api.deepseek.com",),
    refused="concurrency",
    traps="No headers. What is limited is the number of calls in flight.",
)
_PARTIAL: Final = (_REQUESTS, _TOKENS)
_PARTIAL_TRAPS: Final = "Some of OpenAI's names or none: the rest is learned from refusals."
_COHERE: Final = Vendor(
    "cohere", ("api.cohere.com", "api.cohere.ai"), _PARTIAL, traps=_PARTIAL_TRAPS
)
_PERPLEXITY: Final = Vendor("perplexity", ("api.perplexity.ai",), _PARTIAL, traps=_PARTIAL_TRAPS)
_XAI: Final = Vendor("xai", ("api.x.ai",), _PARTIAL, traps=_PARTIAL_TRAPS + " No resets.")
_IETF: Final = Vendor(
    "ietf",
    extra=("ietf",),
    traps="Both drafts: lists of named policies, and three plain headers. A window without a "
    "length is taken for a minute's.",
)
_GENERIC: Final = Vendor(
    "generic",
    windows=(
        of_some_length(_REQUESTS),
        _TOKENS,
        *_spelled_out("unknown"),
        of_some_length(for_account(openai_like("requests", "", MINUTE))),
    ),
    extra=("ietf",),
    traps="An unknown host: each answer is read as what its headers look like.",
)

VENDORS: Final[Mapping[str, Vendor]] = MappingProxyType(
    {
        row.name: row
        for row in (
            _OPENAI,
            _AZURE,
            _GROQ,
            _ANTHROPIC,
            _MISTRAL,
            _TOGETHER,
            _FIREWORKS,
            _OPENROUTER,
            _GEMINI,
            _CEREBRAS,
            _DEEPSEEK,
            _COHERE,
            _PERPLEXITY,
            _XAI,
            _IETF,
            _GENERIC,
        )
    }
)
"""All of them by name."""
_SNIFFED: Final = tuple(row for row in VENDORS.values() if row.marks)
_UNKNOWN: Final = Vendor(
    "auto",
    windows=tuple(window for row in VENDORS.values() for window in row.windows),
    extra=("unified", "ietf"),
    sniffs=True,
)


@lru_cache(256)
def vendor_of(configured: str | None, base_url: str, dialect: str) -> Vendor:
    """Return whose limits an account has: as *configured*, else by its host, else by each answer.

    Raises:
        KeyError: There is no vendor of the name that is configured.
    """
    if configured and configured != "auto":
        return VENDORS[configured]
    try:
        host = (urlsplit(base_url).hostname or "").lower()
    except ValueError:
        host = ""
    for row in VENDORS.values():
        if any(f".{host}".endswith(f".{end.lstrip('.')}") for end in row.hosts):
            return row
    return _ANTHROPIC if dialect == "anthropic" else _UNKNOWN


def sniffed(headers: Mapping[str, str]) -> Vendor:
    """Return whose *headers* these look like."""
    for row in _SNIFFED:
        if any(mark in headers for mark in row.marks):
            return row
    if not _ANTHROPIC.names.isdisjoint(headers):
        return _ANTHROPIC
    return _GENERIC
