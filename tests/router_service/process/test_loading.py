"""What a router's process says while it still reads what was learnt before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import orjson
import pytest
from starlette.requests import Request
from starlette.types import Message

from router_service.app import Endpoints, Parts
from router_service.contract import NoExactProfile
from router_service.engine import Engine
from router_service.fitting.fitter import Fitter
from router_service.process.config import ProcessSettings
from router_service.process.counts import Counts
from router_service.process.replies import Refused
from router_service.settings import RouterSettings
from router_service.store.learner import Learner
from router_service.store.observations import ObservationTable
from techniques.core.json import Json


@dataclass
class Reading:
    """As a learner, it has ``loaded`` what there was, or not yet."""

    loaded: bool


def endpoints(*, loaded: bool) -> Endpoints:
    engine = Engine(RouterSettings(type="semknn"))
    table, fitter = cast("ObservationTable", None), cast("Fitter", None)
    learner = cast("Learner", Reading(loaded))
    return Endpoints(Parts(ProcessSettings(), engine, table, learner, Counts(), fitter))


def query(*, strict: bool) -> Request:
    said: Json = {"model": "small", "offers": [{"arm": "none"}], "strict": strict}

    async def receive() -> Message:
        return {"type": "http.request", "body": orjson.dumps(said), "more_body": False}

    return Request({"type": "http", "method": "POST", "headers": []}, receive)


async def test_strict_it_does_not_say_that_nothing_was_learnt_before_it_has_looked() -> None:
    with pytest.raises(Refused) as caught:
        await endpoints(loaded=False).route(query(strict=True))
    assert caught.value.reply.status_code == 503
    assert b'"loading"' in caught.value.reply.body

    with pytest.raises(NoExactProfile):
        await endpoints(loaded=True).route(query(strict=True))


async def test_who_is_not_strict_is_told_something_at_once() -> None:
    reply = await endpoints(loaded=False).route(query(strict=False))

    assert reply.status_code == 200
