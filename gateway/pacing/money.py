"""The most that a sub-call can cost: what is held of a budget for it."""

from __future__ import annotations

from gateway.admission.need.value import Need
from pricing.cost import cost
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.request import Request

_CACHED = b'"cache_control"'


def most_cost(need: Need, price: Price, request: Request) -> int:
    """Return the picodollars that a call of *need* hardly ever costs more than.

    Its output counts with all that it may have, its input with what writing it to the provider's
    cache costs, where the request asks for that.
    """
    plain = Usage(input_tokens=need.input, output_tokens=need.most)
    amounts = [cost(plain, price)]
    if price.reasoning is not None:
        amounts.append(cost(plain + Usage(reasoning_tokens=need.most), price))
    if _writes_cache(request):
        amounts.append(cost(plain + Usage(cache_write_tokens=need.input), price))
        amounts.append(cost(plain + Usage(cache_write_1h_tokens=need.input), price))
    return max(amounts)


def _writes_cache(request: Request) -> bool:
    relay = request.relay
    if relay is None:
        return True
    return relay.raw is None or _CACHED in relay.raw
