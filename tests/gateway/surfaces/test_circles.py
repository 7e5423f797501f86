"""Nothing of a request that is over waits for the collector: that comes late, and it is large."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
import pytest

from gateway.surfaces.finishing import forget_way
from techniques.core.json import Json
from tests.gateway.surfaces.scene import Client, Played, Stage, chat, refused, streamed, whole

on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])
OWN = ("gateway", "techniques")


@contextmanager
def collected() -> Iterator[list[str]]:
    """Yield a list that has, at the end, what of ours only the collector could free meanwhile."""
    found: list[str] = []
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        kinds = (type(one) for one in gc.garbage)
        found += [kind.__qualname__ for kind in kinds if kind.__module__.startswith(OWN)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


async def serve(stage: Stage, body: Json, *, leaves: bool = False) -> None:
    client = Client()
    if leaves:
        client = Client(lambda said: client.gone.set() if said else None)
    await stage.serve(body, client=client)
    for _ in range(3):  # who watched for the client's leaving ends, too
        await anyio.lowlevel.checkpoint()


def asked(**fields: Json) -> Json:
    return chat(max_tokens=5, **fields)


SERVED: dict[str, tuple[Callable[[], Played], Json]] = {
    "whole": (whole, asked()),
    "streamed": (streamed, asked(stream=True)),
    "refused": (lambda: refused(400), asked()),
    "refused, streamed": (lambda: refused(503), asked(stream=True)),
    "a wrong body": (whole, b"{"),
    "a wrong field": (whole, asked(temperature="hot")),
    "an unknown model": (whole, asked(model="none")),
}


@on_asyncio
@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
@pytest.mark.parametrize("case", SERVED)
async def test_a_request_that_is_over_leaves_no_circle(case: str, dialect: str) -> None:
    answers, body = SERVED[case]
    stage = Stage(answers(), dialect=dialect)
    with collected() as found:
        await serve(stage, body)
    assert found == []


@on_asyncio
async def test_a_client_that_leaves_leaves_no_circle() -> None:
    stage = Stage(streamed())
    with collected() as found:
        await serve(stage, asked(stream=True), leaves=True)
    assert found == []


def test_an_error_forgets_where_it_was_and_what_was_before_it() -> None:
    first, second, third = ValueError("1"), KeyError("2"), OSError("3")
    try:
        try:
            raise first
        except ValueError:
            raise second from third
    except KeyError as error:
        error.__cause__ = error  # as ``raise error from error`` has it
        forget_way(error)
    for one in (first, second):
        assert (one.__traceback__, one.__cause__, one.__context__) == (None, None, None)
