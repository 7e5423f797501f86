from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.policy.keys import OPEN, Caller
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.responses.records import Response, ResponseName, ResponseSealed, State
from gateway.surfaces.recall import Recall
from techniques.core.errors import GatewayError, RequestRejected, TooLarge, Unavailable
from techniques.core.json import Json, JsonObject
from tests.gateway.responses.scene import Shelved
from tests.gateway.stores.responses.scene import AT

DAY_S = 86_400.0
K1 = Caller("k1")


def response(
    number: int, parent: int | None = None, state: State = "completed", used_ms: int = AT
) -> Response:
    said = {"id": f"in_{number}", "type": "message", "role": "user", "content": f"Q{number}"}
    item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": f"A{number}"}
    told = {"id": f"resp_{number}", "instructions": "Be brief.", "output": [item]}
    before = None if parent is None else f"resp_{parent}"
    name = ResponseName("k1", f"resp_{number}")
    return Response(name, before, state, AT, told, (said,), used_ms=used_ms)


def place(*responses: Response, **more: Any) -> tuple[Recall, Shelved]:
    shelf = Shelved()
    shelf.kept = {one.name: one for one in responses}
    usual = {
        "is_on": True,
        "retention_s": 16 * DAY_S,
        "max_size": 10**6,
        "max_body": 10**6,
        "carries": True,
    }
    return Recall(shelf, **(usual | more)), shelf


async def asked(recall: Recall, caller: Caller = K1, **body: Json) -> JsonObject:
    """Return the body that is carried out."""
    return (await recall.recalled(caller, {"model": "m", **body}, "r1")).body


def spoken(body: JsonObject) -> list[Json]:
    return [item.get("content", item) for item in body["input"]]


async def test_what_was_said_before_comes_in_front_without_its_instructions() -> None:
    recall, _ = place(response(1), response(2, 1))

    body = await asked(recall, input="Q3", previous_response_id="resp_2")

    assert spoken(body) == ["Q1", "A1", "Q2", "A2", "Q3"]
    assert not {"previous_response_id", "instructions"} & body.keys()
    assert all("id" not in item for item in body["input"])


async def test_nobody_else_is_to_keep_what_is_kept_here() -> None:
    recall, _ = place()
    body = await asked(recall, input="Q", reasoning={"effort": "low"}, include=["x"])

    assert body["store"] is False
    assert body["include"] == ["x", "reasoning.encrypted_content"]
    unasked = await asked(recall, input="Q")
    assert unasked["include"] == ["reasoning.encrypted_content"]


async def test_reasoning_that_is_only_a_name_is_not_sent_where_nobody_keeps_it() -> None:
    bare: JsonObject = {"type": "reasoning", "id": "rs_1", "summary": []}
    sealed: JsonObject = {**bare, "id": "rs_2", "encrypted_content": "sealed"}
    first = response(1)
    before = replace(first, object={**first.object, "output": [bare, sealed, *first.output]})
    recall, _ = place(before)
    question: JsonObject = {"role": "user", "content": "Q"}

    own = await asked(recall, input=[question, bare, sealed, question])
    unkept = await asked(recall, input=[question, bare], store=False)
    later = await asked(recall, input=[question], previous_response_id="resp_1", store=False)

    assert own["input"] == [question, sealed, question]
    assert unkept["input"] == [question, bare]
    thoughts = [item for item in later["input"] if item.get("type") == "reasoning"]
    assert [item["encrypted_content"] for item in thoughts] == ["sealed"]


@pytest.mark.parametrize("caller", [Caller("k2"), OPEN])
async def test_another_keys_response_is_unknown(caller: Caller) -> None:
    recall, _ = place(response(1))
    recalled = await recall.recalled(caller, {"input": "Q", "previous_response_id": "resp_1"}, "r1")
    assert (recalled.unknown, recalled.raw, recalled.keeping) == ("resp_1", None, None)


async def test_a_conversation_of_which_some_is_gone_does_not_go_on() -> None:
    recall, _ = place(response(2, 1))
    with pytest.raises(RequestRejected) as refused:
        await asked(recall, input="Q", previous_response_id="resp_2")
    assert refused.value.code == "previous_response_not_found"
    assert "resp_1" in refused.value.message


async def test_a_conversation_that_is_too_large_is_told_to_be() -> None:
    recall, _ = place(response(0), *(response(n, n - 1) for n in range(1, 30)), max_body=1000)
    with pytest.raises(TooLarge):
        await asked(recall, input="Q", previous_response_id="resp_29")


@pytest.mark.parametrize("state", ["queued", "in_progress", "cancelling"])
async def test_one_that_has_not_ended_does_not_go_on(state: State) -> None:
    recall, _ = place(response(1, state=state))
    with pytest.raises(RequestRejected) as refused:
        await asked(recall, input="Q", previous_response_id="resp_1")
    assert refused.value.code == "previous_response_not_ended"


async def test_it_is_noted_now_and_then_that_a_conversation_is_used() -> None:
    long_ago = AT - int(DAY_S * 1000) - 1
    recall, shelf = place(response(1, used_ms=long_ago), response(2, 1), response(3))

    await asked(recall, input="Q", previous_response_id="resp_3")
    assert shelf.touched == []
    await asked(recall, input="Q", previous_response_id="resp_2")
    assert [name.id for name in shelf.touched] == ["resp_1", "resp_2"]


@pytest.mark.parametrize(
    ("lost", "code"),
    [(DatabaseLost("gone"), "responses_lost"), (ResponseSealed("sealed"), "response_sealed")],
)
async def test_what_cannot_be_read_is_no_empty_conversation(lost: Exception, code: str) -> None:
    recall, shelf = place(response(1))
    shelf.lost = lost
    by_id: JsonObject = {"previous_response_id": "resp_1"}
    by_item: JsonObject = {"input": [{"type": "item_reference", "id": "msg_1"}]}
    for body in (by_id, by_item):
        with pytest.raises(Unavailable) as told:
            await asked(recall, **{"input": "Q", **body})
        assert told.value.code == code


async def test_items_that_are_referred_to_are_found() -> None:
    recall, _ = place(response(1))
    reference = {"type": "item_reference", "id": "msg_1"}
    unknown = {"type": "item_reference", "id": "other"}

    body = await asked(recall, input=[reference, unknown])

    assert spoken(body) == ["A1", unknown]
    assert spoken(await asked(recall, Caller("k2"), input=[reference])) == [reference]


@pytest.mark.parametrize("is_on", [True, False])
async def test_what_is_referred_to_is_no_larger_than_a_request_may_be(is_on: bool) -> None:  # noqa: FBT001
    recall, _ = place(response(1), is_on=is_on, max_body=1000)
    recall.recent.note("k1", response(1).output)
    reference = {"type": "item_reference", "id": "msg_1"}

    assert len((await asked(recall, input=[reference] * 5))["input"]) == 5
    with pytest.raises(TooLarge):
        await asked(recall, input=[reference] * 100)


async def test_where_none_is_kept_a_request_goes_on_as_it_came() -> None:
    recall, _ = place(response(1), is_on=False)
    body = {"input": "Q", "previous_response_id": "resp_1", "store": True}

    recalled = await recall.recalled(K1, body, "r1")

    assert (recalled.body, recalled.raw, recalled.unknown) == (body, None, None)


async def test_where_none_is_kept_items_of_the_last_answers_are_known() -> None:
    recall, _ = place(is_on=False)
    recall.recent.note("k1", [{"id": "fc_1", "type": "function_call", "call_id": "c"}])

    body = await asked(recall, input=[{"type": "item_reference", "id": "fc_1"}])

    assert body["input"] == [{"type": "function_call", "call_id": "c"}]


async def test_of_a_key_that_is_kept_apart_nothing_is_kept() -> None:
    recall, _ = place(response(1))
    recalled = await recall.recalled(
        Caller("k1", kept_apart=True), {"input": "Q", "previous_response_id": "resp_1"}, "r1"
    )
    assert recalled.unknown == "resp_1"
    assert recalled.keeping is not None
    assert not recalled.keeping.says_more


@pytest.mark.parametrize(
    ("more", "body", "named"),
    [
        ({}, {"store": False}, "store"),
        ({"is_on": False}, {}, "responses.store"),
        ({"carries": False}, {}, "journal.durability"),
    ],
)
async def test_one_in_the_background_wants_to_be_kept_and_carried_out(
    more: JsonObject, body: JsonObject, named: str
) -> None:
    recall, _ = place(**more)
    with pytest.raises(RequestRejected) as refused:
        await asked(recall, input="Q", background=True, **body)
    assert refused.value.param == "background"
    assert named in refused.value.message


async def test_a_conversation_that_is_kept_elsewhere_goes_on_as_it_came() -> None:
    recall, _ = place()
    body: JsonObject = {"input": "Q", "conversation": "conv_1"}
    recalled = await recall.recalled(K1, body, "r1")
    assert (recalled.body, recalled.raw, recalled.keeping) == (body, None, None)
    with pytest.raises(RequestRejected) as refused:
        await asked(recall, background=True, **body)
    assert refused.value.param == "background"


async def test_one_in_the_background_is_carried_out_as_a_stream_under_its_own_name() -> None:
    recall, _ = place(response(1))
    recalled = await recall.recalled(
        K1, {"input": "Q", "background": True, "previous_response_id": "resp_1"}, "r1"
    )
    assert recalled.background
    assert not recalled.streamed
    assert recalled.body["stream"] is True
    assert "background" not in recalled.body
    assert recalled.keeping is not None
    assert (recalled.keeping.wish.known, recalled.keeping.wish.parent) == ("resp_r1", "resp_1")


@pytest.mark.parametrize(
    ("name", "value"), [("store", "yes"), ("background", 1), ("previous_response_id", 7)]
)
async def test_a_field_that_is_wrong_is_named(name: str, value: Json) -> None:
    recall, _ = place()
    with pytest.raises(GatewayError) as refused:
        await asked(recall, input="Q", **{name: value})
    assert refused.value.param == name


@pytest.mark.parametrize(
    "said",
    ["a", [{"role": "user", "content": "a"}], [{"type": "message", "role": "user", "content": []}]],
)
@pytest.mark.parametrize("stored", [True, False])
async def test_who_refers_to_nothing_needs_no_database(said: Json, *, stored: bool) -> None:
    recall, shelf = place()
    shelf.lost = DatabaseLost("gone")

    body = await asked(recall, input=said, store=stored)

    assert body["input"] == said
    with pytest.raises(Unavailable):
        await asked(recall, input=[{"type": "item_reference", "id": "msg_1"}], store=stored)
