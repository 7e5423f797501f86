from __future__ import annotations

import orjson
import pytest

from gateway.responses.keeping import Keeping, Wish
from gateway.responses.recent import Recent
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.responses.records import ResponseName
from techniques.core.events import Warned
from techniques.core.json import Json, JsonObject
from tests.gateway.responses.scene import Shelved
from tests.gateway.stores.responses.scene import AT

ITEM = {"id": "msg_1", "type": "message", "content": []}
TOLD: JsonObject = {"id": "resp_1", "object": "response", "status": "completed", "output": [ITEM]}
NAME = ResponseName("k1", "resp_1")
WISH = Wish("k1", ({"id": "in_1"},), parent="resp_0")


def last(told: JsonObject, kind: str = "completed") -> bytes:
    event = {"type": f"response.{kind}", "response": told, "sequence_number": 7}
    return b": lockgate {}\n\nevent: response.%b\ndata: %b\n\n" % (
        kind.encode(),
        orjson.dumps(event),
    )


def told_in(data: bytes) -> Json:
    return orjson.loads(data.split(b"data: ")[1])["response"]


async def test_a_whole_answer_is_kept_and_says_so() -> None:
    shelf = Shelved()
    told = orjson.loads(await Keeping(WISH, shelf, 10_000).whole(orjson.dumps(TOLD)))

    said = {"store": True, "previous_response_id": "resp_0", "background": False}
    assert told == TOLD | said
    kept = shelf.kept[NAME]
    assert (kept.object, kept.input, kept.parent) == (told, WISH.input, "resp_0")
    assert (kept.state, kept.created_ms) == ("completed", AT)


@pytest.mark.parametrize("status", ["completed", "incomplete", "failed"])
async def test_a_stream_is_kept_before_its_end_is_told(status: str) -> None:
    shelf = Shelved()
    keeping = Keeping(WISH, shelf, 10_000)
    assert keeping.piece(b"event: x\ndata: {}\n\n") == b"event: x\ndata: {}\n\n"
    data = last(TOLD | {"status": status}, status)

    told = told_in(await keeping.last(data[:40] + data[40:]))

    assert told["store"] is True
    assert shelf.kept[NAME].object == told
    assert shelf.kept[NAME].state == status


@pytest.mark.parametrize("reason", ["lost", "size"])
async def test_where_it_is_not_kept_the_answer_says_so_and_comes_all_the_same(
    reason: str,
) -> None:
    shelf = Shelved()
    shelf.lost = DatabaseLost("gone") if reason == "lost" else None
    warned: list[Warned] = []
    for streamed in (False, True):
        keeping = Keeping(WISH, shelf, 10_000 if reason == "lost" else 20)
        keeping.warn = warned.append
        if streamed:
            told = told_in(await keeping.last(last(TOLD)))
        else:
            told = orjson.loads(await keeping.whole(orjson.dumps(TOLD)))
        assert (told["store"], told["output"]) == (False, [ITEM])
    assert shelf.kept == {}
    assert {(one.code, one.detail) for one in warned} == {
        ("response_not_stored", "size" if reason == "size" else "")
    }


async def test_a_stream_that_broke_off_without_an_end_is_not_kept() -> None:
    shelf = Shelved()
    keeping = Keeping(WISH, shelf, 10_000)
    event = {"type": "response.created", "response": TOLD | {"status": "in_progress"}}
    keeping.piece(b"data: %b\n\n" % orjson.dumps(event))

    assert await keeping.last(b"data: {") == b"data: {"
    assert shelf.kept == {}


async def test_what_is_no_response_is_passed_on_as_it_is() -> None:
    shelf = Shelved()
    assert await Keeping(WISH, shelf, 10_000).whole(b'{"object": "other"}') == (
        b'{"object": "other"}'
    )
    assert shelf.kept == {}


async def test_one_that_is_known_already_has_its_name_and_its_time() -> None:
    shelf = Shelved()
    wish = Wish("k1", known="resp_9", created_ms=5_000, background=True)

    told = told_in(await Keeping(wish, shelf, 10_000).last(last(TOLD)))

    assert (told["id"], told["created_at"], told["background"]) == ("resp_9", 5, True)
    assert shelf.kept[ResponseName("k1", "resp_9")].background


async def test_one_has_its_id_here_whatever_a_provider_calls_it() -> None:
    shelf = Shelved()
    told = orjson.loads(
        await Keeping(Wish("k1", known="resp_9"), shelf, 10_000).whole(orjson.dumps(TOLD))
    )
    assert told["id"] == "resp_9"
    assert "created_at" not in told
    assert list(shelf.kept) == [ResponseName("k1", "resp_9")]


async def test_one_that_failed_and_is_tried_again_is_not_kept() -> None:
    shelf = Shelved()
    keeping = Keeping(WISH, shelf, 10_000)
    keeping.on_failure = False

    await keeping.last(last(TOLD | {"status": "failed"}, "failed"))

    assert shelf.kept == {}


async def test_without_a_shelf_items_are_remembered_and_nothing_else_is_said() -> None:
    recent = Recent(clock=lambda: 0.0)
    keeping = Keeping(Wish("k1"), None, recent=recent)
    data = last(TOLD)

    assert await keeping.last(data) == data
    assert not keeping.says_more
    assert recent.find("k1", ["msg_1"]) == {"msg_1": ITEM}
