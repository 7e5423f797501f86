"""The most that a sub-call can cost: what is held of a budget for it."""

from __future__ import annotations

from gateway.admission.need.value import Need
from gateway.metering.estimate import asked_at, images
from gateway.upstream.embeddings.batches import most_tokens
from pricing.cost import cost
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.relayed import EMBEDDING
from techniques.core.request import Request

_CACHED = b'"cache_control"'


def most_cost(need: Need, price: Price, request: Request) -> int:
    """Return the picodollars that a call of *need* hardly ever costs more than.

    Its output counts with all that it may have, its input with what writing it to the provider's
    cache costs, where the request asks for that; so does the way in which it asks to be served.
    An embedding costs its input alone, and holds no less than its size says, whatever was learned.
    """
    if request.role == EMBEDDING and request.relay is not None:
        least = most_tokens(request.relay.body.get("input"))
        need = need._replace(input=max(need.input, least))
    plain = Usage(need.input, need.most, images=images(request, price))
    possible = [plain]
    if price.reasoning is not None:
        possible.append(plain + Usage(reasoning_tokens=need.most))
    if price.image_output is not None:
        possible.append(plain + Usage(image_output_tokens=need.most))
    if _writes_cache(request):
        possible.append(plain + Usage(cache_write_tokens=need.input))
        possible.append(plain + Usage(cache_write_1h_tokens=need.input))
    prices = asked_at(request, price)
    return max(cost(usage, one) for usage in possible for one in prices)


def _writes_cache(request: Request) -> bool:
    relay = request.relay
    if relay is None:
        return True
    return relay.raw is None or _CACHED in relay.raw
