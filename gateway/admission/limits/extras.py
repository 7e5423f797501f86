"""Reads the two families of headers that have a form of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.admission.limits.page import Page
from gateway.admission.limits.rows import CLAIMS, MINUTE, UNIFIED
from gateway.admission.limits.values import amount, delay
from gateway.admission.reading import Dimension, Reading

_LONGEST = 2000
_PARAMETER = re.compile(r"(?:^|[;,])\s*([a-z]+)\s*=\s*\"?([^;,\"\s]{1,40})")
_FULL = "rejected"
_CLAIM_NAMES = {"5h": "five_hour", "7d": "seven_day"}


def unified(page: Page, status: int) -> Iterator[Reading]:
    """Yield the windows of an Anthropic subscription, of which only the used part is told.

    One is full when all of it is used, or when it is the one for which the call was refused.
    """
    refused = status == 429 and (page.text(f"{UNIFIED}status") or "").strip() == _FULL
    claim = (page.text(f"{UNIFIED}representative-claim") or "").strip()
    for name, period in CLAIMS.items():
        used = page.amount(f"{UNIFIED}{name}-utilization")
        reset = page.delay(f"{UNIFIED}{name}-reset")
        full = refused and claim == _CLAIM_NAMES[name]
        if used is None and not full:
            continue
        left = 0.0 if full or (used is not None and used >= 1) else None
        yield Reading("tokens", period, None, left, reset, "fixed", "account", used)


def ietf(page: Page, status: int) -> Iterator[Reading]:
    """Yield what the IETF's drafts tell: of named policies, and in plain headers.

    Source: draft-ietf-httpapi-ratelimit-headers, 10 and 07 for the former, 06 for the latter.
    """
    policies = dict(_items(page.text("ratelimit-policy") or ""))
    yield from _named(page, policies)
    left, reset = page.amount("ratelimit-remaining"), page.delay("ratelimit-reset")
    text = page.text("ratelimit-limit")
    if text is None and left is None:
        return
    first, _, more = (text or "").partition(",")
    limit = amount(first.partition(";")[0].strip())
    if text is not None and limit is None:
        page.unparsed.append("ratelimit-limit")
    if not limit and not left and status != 429:
        return
    stated = [_parameters(more or first), *policies.values()]
    period = next((amount(each["w"]) for each in stated if "w" in each), None) or MINUTE
    yield Reading("requests", period, limit, left, reset, scope="account")


def _named(page: Page, policies: dict[str, dict[str, str]]) -> Iterator[Reading]:
    text = page.text("ratelimit")
    if text is None:
        return
    alone = next(iter(policies.values())) if len(policies) == 1 else {}
    found = False
    for name, told in _items(text):
        told = {**policies.get(name, alone), **told}
        left = amount(told.get("r") or told.get("remaining", ""))
        if left is None or told.get("qu") == "content-bytes":
            continue
        found = True
        yield Reading(
            _dimension(f"{name} {told.get('qu', '')}".lower()),
            amount(told.get("w", "")) or MINUTE,
            amount(told.get("q") or told.get("limit", "")),
            left,
            delay(told.get("t") or told.get("reset", "")),
            scope="account",
        )
    if not found:
        page.unparsed.append("ratelimit")


def _items(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the items of a list, name and parameters; the older form has but one, without name."""
    text = text[:_LONGEST]
    if "remaining=" in text:
        yield "", _parameters(text)
        return
    for part in text.split(","):
        name, _, rest = part.partition(";")
        yield name.strip().strip('"'), _parameters(rest)


def _parameters(text: str) -> dict[str, str]:
    return dict(_PARAMETER.findall(text))


def _dimension(words: str) -> Dimension:
    if "token" in words:
        return "tokens"
    return "concurrency" if "concurren" in words else "requests"
