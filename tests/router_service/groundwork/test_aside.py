from __future__ import annotations

import threading
from time import sleep

import anyio
import orjson
import pytest

from router_service.groundwork.aside import aside, is_heavy
from techniques.core.groups import task_group
from techniques.core.json import Json

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


@pytest.mark.parametrize(
    ("value", "heavy"),
    [
        ({"input": "x, " * 50_000}, False),
        ({"messages": [{"content": "x" * 500}] * 900}, False),
        ({"messages": [{"content": "x" * 50}] * 3000}, True),
        ({"input": [[]] * 50_000}, True),
        ({"input": [1] * 200_000}, True),
    ],
)
async def test_what_has_very_many_values_is_heavy(value: Json, *, heavy: bool) -> None:
    assert is_heavy(orjson.dumps(value)) is heavy


async def test_heavy_work_is_done_elsewhere_and_one_at_a_time() -> None:
    at_once, most, threads = 0, 0, set[int]()

    def work() -> int:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        threads.add(threading.get_ident())
        sleep(0.01)
        at_once -= 1
        return 7

    async with task_group() as group:
        for _ in range(4):
            group.start_soon(lambda: aside(work, heavy=True))

    assert await aside(work, heavy=True) == 7
    assert most == 1
    assert threading.get_ident() not in threads


async def test_light_work_is_done_at_once() -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        assert await aside(threading.get_ident, heavy=False) == threading.get_ident()


@pytest.mark.parametrize("heavy", [False, True])
async def test_what_goes_wrong_is_told(*, heavy: bool) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await aside(lambda: int("x"), heavy=heavy)
