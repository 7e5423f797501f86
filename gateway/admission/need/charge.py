"""What a provider deducts from its rate limits for a call, when it is sent and once it is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from gateway.admission.need.traits import Traits
from gateway.admission.need.value import Need
from gateway.admission.reading import Dimension
from pricing.usage import Usage

ChargeRule: TypeAlias = Literal["reserve_max", "reserve_larger", "actual", "cached_free", "unknown"]
"""What a provider deducts.

``reserve_max``: on sending, the input and all the output that is allowed (Cerebras, Azure).
``reserve_larger``: on sending, the output that is allowed or the size of the request at four
characters a token, whichever is more (OpenAI).
``actual``: what is used, as it is produced.
``cached_free``: the same without what is read from the provider's cache (Anthropic, Groq).
``unknown``: nobody says; what is held is enough for ``reserve_max``.
"""

Charge: TypeAlias = Mapping[Dimension, int]

_BYTES_PER_TOKEN: Final = 4
_ENOUGH: Final = 50


def charge(rule: ChargeRule, need: Need, traits: Traits) -> Charge:
    """Return what to hold for a call: what its provider will deduct, or may.

    What no caller states counts as far as it is expected: output without a limit is bounded.
    """
    stated, entry, output = traits.stated, need.input, need.output
    allowed = output if stated is None or stated < output else stated
    total = entry + output
    match rule:
        case "reserve_max" | "unknown":
            output, total = allowed, entry + allowed
        case "reserve_larger":
            output, total = allowed, max(_larger(traits, stated), total)
        case "actual":
            pass
        case "cached_free":
            entry -= need.cached
            total = entry + output
    return _charge(entry, output, total)


def charged(rule: ChargeRule, usage: Usage, traits: Traits) -> Charge:
    """Return what a provider has deducted once a call is done, which is not always what it used."""
    stated, entry, output = traits.stated, usage.input_tokens, usage.output_tokens
    allowed = output if stated is None or stated < output else stated
    total = entry + output
    match rule:
        case "reserve_max" | "unknown":
            output, total = allowed, entry + allowed
        case "reserve_larger":
            output, total = allowed, _larger(traits, stated)
        case "actual":
            pass
        case "cached_free":
            entry = max(entry - usage.cache_read_tokens, 0)
            total = entry + output
    return _charge(entry, output, total)


def _charge(entry: int, output: int, total: int) -> Charge:
    return {"requests": 1, "tokens": total, "input_tokens": entry, "output_tokens": output}


def _larger(traits: Traits, stated: int | None) -> int:
    return max(stated or 0, -(-traits.text_bytes // _BYTES_PER_TOKEN), 1)


class RuleFit:
    """Finds out what a provider deducts: the rule whose amounts are nearest to what was seen.

    Until 50 calls were seen, the rule is ``unknown``.
    """

    __slots__ = ("_off", "_seen")

    def __init__(self) -> None:
        self._off: dict[ChargeRule, float] = dict.fromkeys(
            ("reserve_max", "reserve_larger", "actual", "cached_free"), 0.0
        )
        self._seen = 0

    def record(self, deducted: float, usage: Usage, traits: Traits) -> None:
        """Take in that a window of tokens fell by *deducted* for one call and nothing else."""
        self._seen += 1
        for rule in self._off:
            self._off[rule] += abs(charged(rule, usage, traits)["tokens"] - deducted)

    @property
    def rule(self) -> ChargeRule:
        """The rule that fits best; of equals the one that holds more."""
        if self._seen < _ENOUGH:
            return "unknown"
        return min(self._off, key=self._off.__getitem__)
