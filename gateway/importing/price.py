"""What a row of a LiteLLM ``model_list`` says of its price."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from gateway.importing.report import Settings
from techniques.core.json import Json, JsonObject

_PRICES: Final[Mapping[str, str]] = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "cache_read_input_token_cost": "cache_read",
    "cache_creation_input_token_cost": "cache_write",
    "output_cost_per_reasoning_token": "reasoning",
    "input_cost_per_audio_token": "audio_input",
    "output_cost_per_audio_token": "audio_output",
}


def price_of(params: Settings, info: Settings) -> JsonObject:
    """Return the price that is stated, in dollars per million tokens; {} if there is none."""
    price: JsonObject = {}
    for theirs, ours in _PRICES.items():
        beside, value = info.take(theirs), params.take(theirs)
        for stated in (value, beside):
            if stated is not None and ours not in price:
                dollars = _per_million(stated)
                if dollars is None:
                    params.report.lose(params.at(theirs), "it is no price")
                else:
                    price[ours] = dollars
    if price and not {"input", "output"} <= price.keys():
        params.report.lose(params.path, "a price has to have both, of input and of output")
        return {}
    return price


def _per_million(value: Json) -> float | None:
    try:
        dollars = Decimal(str(value)) * 10**6
    except InvalidOperation:
        return None
    if isinstance(value, bool) or not dollars.is_finite() or not 0 <= dollars <= 10**6:
        return None
    return int(dollars) if dollars == int(dollars) else float(dollars)
