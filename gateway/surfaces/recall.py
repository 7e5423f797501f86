"""What a request of the Responses API refers to: put in front of what it says, or refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import orjson

from gateway.planning.plan import Plan
from gateway.policy.keys import Caller
from gateway.responses.items import (
    by_id,
    is_bare,
    kept_input,
    references,
    resolved,
    sent_again,
    weight,
)
from gateway.responses.keeping import Keeping, Wish
from gateway.responses.recent import Recent
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.responses.records import Response, ResponseName, ResponseSealed
from gateway.stores.responses.shelf import Shelf
from router_service.groundwork.aside import MANY, aside
from techniques.core.errors import RequestRejected, TooLarge, Unavailable
from techniques.core.json import Json, JsonObject

DIALECT: Final = "openai_responses"
PREFIX: Final = "resp_"
_ENCRYPTED: Final = "reasoning.encrypted_content"
_SHOWN: Final = 100
_OFTEN: Final = 16
"""How often in the time that a response is kept it is written down that it was used."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """A request that stands for itself.

    ``raw`` are its bytes, None where they are those that came. ``unknown`` is a response that it
    goes on with and that is not known here: a provider may know it. ``streamed`` tells whether its
    client wants a stream of one in the background.
    """

    body: JsonObject
    raw: bytes | None = None
    keeping: Keeping | None = None
    unknown: str | None = None
    streamed: bool = False

    @property
    def background(self) -> bool:
        """Whether nobody is to wait for its answer."""
        return self.keeping is not None and self.keeping.wish.background

    def must_fit(self, plan: Plan) -> Keeping | None:
        """Return what keeps the answer that *plan* brings; a provider that keeps it needs none.

        Raises:
            RequestRejected: It goes on with a response that nobody knows.
        """
        relayed = plan.card is None and plan.model.channel.provider.dialect == DIALECT
        if self.unknown is not None and not relayed:
            raise not_found(self.unknown)
        if relayed and self.keeping is not None and not self.keeping.says_more:
            return None
        return self.keeping


@dataclass(frozen=True, slots=True)
class Recall:
    """What is remembered, by one configuration.

    ``shelf`` None: there is no database. ``is_on``: the operator has responses kept.
    ``max_size`` bounds one of them, ``max_body`` a conversation. ``carries``: runs are written
    down, so that one can be carried out that nobody waits for.
    """

    shelf: Shelf | None = None
    is_on: bool = False
    retention_s: float = 0.0
    max_size: int = 0
    max_body: int = 0
    carries: bool = False
    recent: Recent = field(default_factory=Recent)

    @property
    def kept(self) -> Shelf | None:
        """Where responses are kept, None where they are not."""
        return self.shelf if self.is_on else None

    async def recalled(self, caller: Caller, body: JsonObject, request_id: str) -> Recalled:
        """Return the request that *body* is, so that it stands for itself.

        Raises:
            RequestRejected: It refers to what is not there, or wants what cannot be done.
            Unavailable: The database does not answer.
        """
        shelf = None if caller.kept_apart else self.kept
        stored, background = _flag(body, "store"), bool(_flag(body, "background"))
        if background:
            self._must_carry(shelf, stored=stored is not False)
        if body.get("conversation") is not None:  # whoever has that has what was said in it
            if background:
                raise _no_background("its conversation is kept elsewhere.")
            return Recalled(body)
        owner = caller.name or ""
        known = await self._items(owner, shelf, references(body.get("input")))
        told = body if not known else {**body, "input": resolved(body.get("input"), known)}
        if shelf is None:
            keeping = None if stored is False else Keeping(Wish(owner), None, recent=self.recent)
            unknown = _parent(body) if self.is_on else None
            return Recalled(told, orjson.dumps(told) if known else None, keeping, unknown)
        said = told.get("input")
        many = isinstance(said, list) and len(said) > MANY
        kept = await aside(partial(kept_input, said), heavy=many)
        wish = Wish(owner, kept, background=background)
        if stored is not False:
            wish = replace(wish, known=PREFIX + request_id)
        if background:
            wish = replace(wish, created_ms=shelf.clock())
        return await self._gone_on_with(told, wish, shelf, stored=stored is not False)

    async def _gone_on_with(
        self, body: JsonObject, wish: Wish, shelf: Shelf, *, stored: bool
    ) -> Recalled:
        parent = _parent(body)
        if parent is not None:
            before = await self._before(ResponseName(wish.owner, parent), shelf)
            if not before:
                if wish.background:
                    raise not_found(parent)
                return Recalled(body, unknown=parent)
            body = {**body, "input": [*_said(before), *_items_of(body.get("input"))]}
            wish = replace(wish, parent=parent)
        keeping = Keeping(wish, shelf if stored else None, self.max_size)
        streamed = bool(body.get("stream"))
        body = _for_whoever(body, stored=stored, background=wish.background)
        return Recalled(body, orjson.dumps(body), keeping, streamed=streamed)

    async def _before(self, name: ResponseName, shelf: Shelf) -> Sequence[Response]:
        """Return the conversation that ends with a response, nothing where that is not known."""
        try:
            found = await shelf.chain(name, self.max_body)
            now_ms = shelf.clock()
            stale_ms = now_ms - int(self.retention_s * 1000 / _OFTEN)
            if found and min(one.used_ms for one in found) < stale_ms:
                with suppress(DatabaseLost):
                    await shelf.table.touch([one.name for one in found], now_ms)
        except (DatabaseLost, ResponseSealed) as error:
            raise unavailable(error) from error
        if not found:
            return ()
        if found[0].parent is not None:
            await self._must_be_whole(found[0], shelf)
        if not found[-1].has_ended:
            raise RequestRejected(
                f"The response {name.id[:_SHOWN]!r} has not ended yet.",
                code="previous_response_not_ended",
                param="previous_response_id",
            )
        return found

    async def _must_be_whole(self, first: Response, shelf: Shelf) -> None:
        """Refuse a conversation that begins with *first* as far as it was read."""
        parent = first.parent or ""
        if await shelf.table.find(ResponseName(first.name.owner, parent)) is None:
            raise not_found(parent)
        raise TooLarge("The conversation has become larger than a request may be.")

    async def _items(
        self, owner: str, shelf: Shelf | None, ids: Sequence[str]
    ) -> dict[str, JsonObject]:
        """Return those of the items called *ids* that are known.

        Raises:
            TooLarge: With each as often as it is referred to, they are more than a request may be.
        """
        if not ids:  # the database need not be there for who refers to nothing
            return {}
        times = Counter(ids)
        if shelf is None:
            found = self.recent.find(owner, list(times))
            self._must_hold(weight(found, times))
            return found
        found, size = {}, 0
        try:
            holders = await shelf.table.holders(owner, list(times))
            for response_id in dict.fromkeys(holders.values()):
                response = await shelf.find(ResponseName(owner, response_id))
                items = by_id(response.output if response is not None else ())
                more = {one: item for one, item in items.items() if one in times}
                size += weight(more, times)
                self._must_hold(size)
                found |= more
        except (DatabaseLost, ResponseSealed) as error:
            raise unavailable(error) from error
        return found

    def _must_hold(self, size: int) -> None:
        if size > self.max_body:
            raise TooLarge("What the request refers to is larger than a request may be.")

    def _must_carry(self, shelf: Shelf | None, *, stored: bool) -> None:
        if not stored:
            raise _no_background("it wants to be stored: 'store' must not be false.")
        if shelf is None:
            raise _no_background(
                "it wants to be stored, and this gateway stores none: its setting "
                "responses.store is off, or this key's journal is in memory."
            )
        if not self.carries:
            raise _no_background(
                "it is a run, and this gateway writes none down: its setting "
                "journal.durability is off."
            )


def not_found(response_id: str) -> RequestRejected:
    """Return what is told of a conversation that cannot be gone on with."""
    return RequestRejected(
        f"Previous response with id '{response_id[:_SHOWN]}' not found.",
        code="previous_response_not_found",
        param="previous_response_id",
    )


def _no_background(why: str) -> RequestRejected:
    return RequestRejected(
        f"No response is carried out in the background here: {why}",
        code="unsupported_parameter",
        param="background",
    )


def unavailable(error: Exception) -> Unavailable:
    """Return what is told where what is kept cannot be read."""
    if isinstance(error, ResponseSealed):
        return Unavailable(str(error), code="response_sealed")
    return Unavailable("What is kept of responses cannot be read now.", code="responses_lost")


def _said(before: Sequence[Response]) -> list[JsonObject]:
    items = (item for one in before for item in (*one.input, *one.output))
    return sent_again(item for item in items if not is_bare(item))


def _items_of(said: Json) -> list[Json]:
    if isinstance(said, str):
        return [{"role": "user", "content": said}]
    return said if isinstance(said, list) else []


def _for_whoever(body: JsonObject, *, stored: bool, background: bool) -> JsonObject:
    """Return *body* as any provider can carry it out, and none of them has to keep it.

    What a model thought comes back only where it is asked for; then it can be sent again. What
    comes without that is left out: its id names nothing that is kept anywhere.
    """
    gone = ("previous_response_id", "background")
    body = {name: value for name, value in body.items() if name not in gone}
    if background:
        body["stream"] = True
    if not stored:
        return body
    body["store"] = False
    included = body.get("include") or []
    if isinstance(included, list) and _ENCRYPTED not in included:
        body["include"] = [*included, _ENCRYPTED]
    said = body.get("input")
    if isinstance(said, list):
        body["input"] = [item for item in said if not is_bare(item)]
    return body


def _flag(body: JsonObject, name: str) -> bool | None:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise _wrong(name, "true or false")
    return value


def _parent(body: JsonObject) -> str | None:
    parent = body.get("previous_response_id")
    if parent is not None and not isinstance(parent, str):
        raise _wrong("previous_response_id", "a string")
    return parent


def _wrong(param: str, should: str) -> RequestRejected:
    return RequestRejected(f"{param!r} must be {should}.", code="invalid_value", param=param)
