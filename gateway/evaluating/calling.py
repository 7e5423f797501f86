"""Asks one configuration over HTTP, and writes down what came of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Final

import anyio
from pydantic import ValidationError

from gateway.app import CHAT
from gateway.clock import utc_now
from gateway.config import PriceConfig
from gateway.evaluating.hearing import Heard, HearingTransport
from gateway.evaluating.insisting import AGAIN, insisting
from gateway.upstream import providers
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import HttpCall, Target, load
from pricing.cost import cost
from pricing.price import PICO, Price
from router_service.evaluation.configurations import Configuration, UnusableConfiguration
from router_service.evaluation.grading import Question
from router_service.evaluation.prompts import Prompt
from router_service.evaluation.records import UNREACHED, AnswerRow
from techniques.core.channel import Channel, Member
from techniques.core.errors import GatewayError, RequestRejected, UpstreamFailed
from techniques.core.events import Event
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Reply, fold
from techniques.core.request import Request

_CONNECT_S: Final = 10.0
_SPEAKS: Final = {"x-lockgate-expose": "final"}
"""Says nothing new to Lockgate but that the client reads what it tells; others ignore it."""

_UNREACHED: Final = ("No connection", "The provider's certificate")
_LONGEST: Final = 500


class Unreachable(Exception):
    """Nobody listens where a configuration says; the message says why."""


class HttpCaller:
    """Asks the server of one configuration."""

    def __init__(self, stated: Configuration) -> None:
        """Make ready to ask; nothing is sent.

        Raises:
            UnusableConfiguration: There is no such dialect, or the prices are none.
        """
        dialects = load(providers)
        if stated.dialect not in dialects:
            told = f"dialect: there is none called {stated.dialect!r}"
            raise UnusableConfiguration(f"{stated.name}: {told}; there are {', '.join(dialects)}")
        self.stated = stated
        self._provider = dialects[stated.dialect]
        self._price = _price_of(stated)
        self._target = Target(stated.model, stated.name, stated.model)
        key = self._provider.authorization(stated.api_key) if stated.api_key else {}
        self._transport = PooledTransport(
            Endpoint(
                base_url=stated.base_url,
                headers={**_SPEAKS, **key, **stated.wishes()},
                connect_s=_CONNECT_S,
                allow_private=True,
            )
        )

    async def reach(self) -> None:
        """Open a connection, which the first call then finds.

        Raises:
            Unreachable: Nobody listens there.
        """
        until = monotonic() + _CONNECT_S
        try:
            response = await self._transport.post(HttpCall("/models", b"", {}, method="GET"), until)
        except UpstreamFailed as error:
            if not _is_unreached(error):
                return  # somebody does; what an answer is like is for each call to find out
            told = f"{self.stated.name}: {self.stated.base_url} does not answer: {error.message}"
            raise Unreachable(told) from error
        try:
            while await response.read():
                pass
        except UpstreamFailed:
            return
        finally:
            response.close()

    def request(self, prompt: Prompt) -> Request:
        """Return the request that *prompt* is here: nothing else of it is ever sent.

        Raises:
            RequestRejected: It is none.
        """
        body = {"model": self.stated.model, **prompt.sent(), **self.stated.body, "stream": True}
        return CHAT.decode(body, b"").relay.decode()

    async def answer(self, question: Question, repeat: int) -> AnswerRow:
        """Return what came of asking *question*; a failure is an answer too."""
        tries, at = _Tries(Heard()), utc_now().timestamp()
        row: JsonObject = {
            "config_hash": self.stated.hash,
            "prompt_hash": question.prompt.hash,
            "repeat": repeat,
            "config": self.stated.name,
            "prompt": question.prompt.id,
            "at": at,
        }
        reply: Reply | None = None
        try:
            with anyio.fail_after(self.stated.timeout_s):
                request = self.request(question.prompt)
                channel = insisting(self._channel(tries.heard), AGAIN, tries.again)
                async with channel.open(request) as events:
                    row["first_token_ms"] = 1000 * (monotonic() - tries.last)
                    reply = await fold(events)
        except (GatewayError, TimeoutError) as error:
            row |= _failure(error, self.stated.timeout_s)
            row.pop("first_token_ms", None)
        row["latency_ms"] = 1000 * (monotonic() - (tries.first if reply is None else tries.last))
        row |= {"status": tries.heard.status, "retries": tries.failed}
        row |= _said(reply) if reply is not None else {}
        row |= _told(tries.heard)
        row |= tries.costing(self._cost(tries.heard, reply))
        return AnswerRow.model_validate(row)

    def member(self) -> Member:
        """Return it as a judge."""
        asked = insisting(self._channel(Heard()), AGAIN, lambda _failure: None)
        return Member("judge", self.stated.model, _Lenient(asked))

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def _channel(self, heard: Heard) -> HttpChannel:
        patience = Patience(self.stated.timeout_s, self.stated.timeout_s)
        transport = HearingTransport(self._transport, heard)
        return HttpChannel(transport, self._provider, self._target, patience)

    def _cost(self, heard: Heard, reply: Reply | None) -> JsonObject:
        """Return what the answer cost: as Lockgate tells, else by price, else not known."""
        source = _first(heard, "cost_source", "x-lockgate-cost-source")
        told = _first(heard, "cost_usd", "x-lockgate-cost-usd")
        if source is not None or told is not None:
            known = _number(told)
            return {
                "cost_usd": known,
                "cost_source": str(source) if known is not None else "unknown",
            }
        if self._price is None or reply is None or reply.usage is None:
            return {}
        return {"cost_usd": cost(reply.usage, self._price) / float(PICO), "cost_source": "pricing"}


@dataclass
class _Tries:
    """The tries of one answer: what is heard of the last, and what those before it cost."""

    heard: Heard
    first: float = field(default_factory=monotonic)
    last: float = field(default_factory=monotonic)
    failed: int = 0
    usd: float = 0.0

    def again(self, _failure: UpstreamFailed) -> None:
        """Begin another try."""
        self.usd += _number(_first(self.heard, "cost_usd", "x-lockgate-cost-usd")) or 0.0
        self.heard.told.clear()
        self.failed, self.last = self.failed + 1, monotonic()

    def costing(self, told: JsonObject) -> JsonObject:
        """Return *told* of the last try, with what those before it cost."""
        known = told.get("cost_usd")
        return told if known is None else {**told, "cost_usd": known + self.usd}


class _Lenient:
    """A judge's channel: a model that refuses a form or a temperature is asked without."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner
        self._plain = False

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Send *request*."""
        async with AsyncExitStack() as stack:
            try:
                wanted = _plainly(request) if self._plain else request
                events = await stack.enter_async_context(self._inner.open(wanted))
            except (RequestRejected, UpstreamFailed) as error:
                rejected = isinstance(error, RequestRejected) or error.kind == "rejected"
                if self._plain or not rejected:
                    raise
                events = await stack.enter_async_context(self._inner.open(_plainly(request)))
                self._plain = True
            yield events


def _plainly(request: Request) -> Request:
    sampling = replace(request.sampling, temperature=None)
    return replace(request, response_format=None, sampling=sampling, thinking=None)


def _price_of(stated: Configuration) -> Price | None:
    if stated.pricing is None:
        return None
    try:
        return PriceConfig.model_validate(stated.pricing).price()
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        lines = (f"pricing.{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults)
        raise UnusableConfiguration(
            "\n".join(f"{stated.name}: {line}" for line in lines)
        ) from error


def _failure(error: GatewayError | TimeoutError, timeout_s: float) -> JsonObject:
    if isinstance(error, TimeoutError):
        return {"error": f"There was no whole answer in {timeout_s:g} s.", "error_kind": "timeout"}
    kind = error.kind if isinstance(error, UpstreamFailed) else error.code
    kind = UNREACHED if _is_unreached(error) else kind
    return {"error": error.message[:_LONGEST] or kind, "error_kind": kind}


def _is_unreached(error: GatewayError) -> bool:
    """Tell whether nobody was there to be asked."""
    return isinstance(error, UpstreamFailed) and error.message.startswith(_UNREACHED)


def _said(reply: Reply) -> JsonObject:
    usage = reply.usage
    return {
        "text": reply.text,
        "thinking": reply.thinking,
        "refusal": reply.refusal,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in reply.tool_calls
        ],
        "finish_reason": reply.finish_reason,
        "model": reply.model,
        "input_tokens": None if usage is None else usage.input_tokens,
        "output_tokens": None if usage is None else usage.output_tokens,
    }


def _told(heard: Heard) -> JsonObject:
    """Return what Lockgate tells of the run; of another server there is one call."""
    calls = _number(_first(heard, "calls", "x-lockgate-calls"))
    spoke = any(name.startswith("x-lockgate-") for name in heard.headers)
    warnings = heard.told.get("warnings")
    if not isinstance(warnings, list):
        said = heard.headers.get("x-lockgate-warnings", "")
        warnings = [one for one in said.split("; ") if one]
    return {
        "calls": (None if spoke else 1) if calls is None else int(calls),
        "technique": str(_first(heard, "technique", "x-lockgate-technique") or ""),
        "cost_tier": str(heard.told.get("cost_tier") or ""),
        "route": heard.headers.get("x-lockgate-route", ""),
        "request_id": str(_first(heard, "request_id", "x-lockgate-request-id") or ""),
        "warnings": [str(one)[:_LONGEST] for one in warnings],
    }


def _first(heard: Heard, name: str, header: str) -> Json:
    value = heard.told.get(name)
    return heard.headers.get(header) if value is None else value


def _number(value: Json) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if 0 <= found < float("inf") else None
