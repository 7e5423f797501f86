"""What becomes of runs when the gateway stops."""

from __future__ import annotations

import anyio
import pytest

from gateway.bookkeeping import bookkeeping
from gateway.config import Config
from gateway.context.slimmer import Slimmer
from gateway.keeping import Kept
from gateway.policy.keys import OpenDoor
from gateway.stores.journal.records import RunName
from techniques.core.errors import Unavailable
from techniques.core.groups import task_group
from techniques.core.reply import fold
from tests.gateway.runs.scene import Mortal, Replica, World, after


@pytest.mark.parametrize("background", [False, True], ids=["waited for", "in the background"])
async def test_a_call_that_is_cut_off_by_a_stop_is_known_to_be_in_doubt(
    *, background: bool
) -> None:
    world = World(lambda _request: after(10))
    async with task_group() as group:
        async with bookkeeping(Config(), Kept(OpenDoor()), None) as book:
            assert book is not None
            replica = Replica(world, book, Mortal(book.journal), Slimmer(world.rules))
            begun = await replica.begin("baseline", background=background)

            async def hear() -> None:
                with pytest.raises(Unavailable):
                    async with begun.answer as events:
                        await fold(events)

            group.start_soon(hear)
            await anyio.sleep(1)
        stored = await book.journal.find(RunName("", "run"))

    assert world.provider.open_calls == 0
    assert stored is not None
    assert stored.standing.state == "interrupted"
    assert [step.state for step in stored.steps] == ["ambiguous"]
