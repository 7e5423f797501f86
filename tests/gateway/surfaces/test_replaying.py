"""The stream of a response in the background ends in an event, whatever becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import anyio
import orjson
import pytest

from gateway.runs.book import RunBook
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.responses.records import Response, ResponseName, ResponseSealed
from gateway.surfaces.gate import Gate
from gateway.surfaces.recall import Recall
from gateway.surfaces.replaying import Replaying
from gateway.surfaces.spoken import RESPONSES
from gateway.surfaces.unheard import Unheard
from techniques.core.json import JsonObject
from tests.gateway.responses.scene import Shelved

NAME = ResponseName("k1", "resp_1")
TOLD: JsonObject = {"object": "response", "id": "resp_1", "status": "queued", "output": []}
QUEUED = Response(NAME, None, "queued", 0, TOLD, background=True)


class Elsewhere:
    """A run that another replica is at work on."""

    async def find(self, name: object) -> Any:
        return SimpleNamespace(standing=SimpleNamespace(state="executing"), steps=())

    def heard(self, name: object) -> None:
        return None


class Scene:
    def __init__(self) -> None:
        self.shelf, self.gate = Shelved(), Gate()
        self.shelf.kept[NAME] = QUEUED
        recall = Recall(self.shelf, is_on=True)
        self.unheard = Unheard(RESPONSES, recall, cast("RunBook", Elsewhere()), self.gate)
        self.heard: list[bytes] = []

    async def listen(self) -> None:
        async for frames in Replaying(self.unheard, QUEUED, -1).stream():
            self.heard.append(frames)

    def lose(self, error: Exception) -> None:
        self.shelf.lost = error

    def erase(self) -> None:
        self.shelf.kept.clear()

    def stop(self) -> None:
        self.gate.closing = True

    def end(self) -> None:
        told = TOLD | {"status": "completed"}
        self.shelf.kept[NAME] = replace(QUEUED, state="completed", object=told)


async def last_of(scene: Scene, happens: Callable[[], None]) -> tuple[str, JsonObject]:
    """Return the last event of the stream after what *happens* while it is waited for."""
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(scene.listen)
            await anyio.sleep(1)
            happens()
    name, data = scene.heard[-1].strip().rsplit(b"\n\n", 1)[-1].split(b"\n")
    return name.decode(), orjson.loads(data.removeprefix(b"data: "))


async def test_its_end_is_told_when_it_is_there() -> None:
    scene = Scene()
    name, told = await last_of(scene, scene.end)
    assert (name, told["response"]["status"]) == ("event: response.completed", "completed")


@pytest.mark.parametrize(
    ("lost", "code"),
    [(DatabaseLost("gone"), "responses_lost"), (ResponseSealed("no key"), "response_sealed")],
)
async def test_what_cannot_be_read_any_more_ends_in_an_error(lost: Exception, code: str) -> None:
    scene = Scene()
    name, told = await last_of(scene, lambda: scene.lose(lost))
    assert (name, told["error"]["code"]) == ("event: error", code)


async def test_what_was_erased_ends_in_an_error() -> None:
    scene = Scene()
    name, told = await last_of(scene, scene.erase)
    assert (name, told["error"]["code"]) == ("event: error", "response_not_found")


async def test_a_gateway_that_stops_lets_who_waits_for_another_go() -> None:
    scene = Scene()
    name, told = await last_of(scene, scene.stop)
    assert (name, told["error"]["code"]) == ("event: error", "unavailable")
