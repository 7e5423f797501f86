from __future__ import annotations

import orjson
import pytest
from structlog.testing import capture_logs

from gateway.policy.keys import Caller, KeyRing, digest
from techniques.core.json import Json
from tests.fakes import script
from tests.gateway.surfaces.scene import (
    ENDED,
    TOLD,
    Client,
    Stage,
    chat,
    refused,
    streamed,
    whole,
)

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])
DOOR = KeyRing("s", [(digest("s", "key"), Caller("team", techniques=frozenset()))])


async def test_an_answer_says_who_made_it_and_what_it_cost() -> None:
    client = await (stage := Stage(whole())).serve(chat())

    headers = client.headers
    assert len(headers["x-lockgate-request-id"]) == 32
    assert headers["x-request-id"] == headers["x-lockgate-request-id"]
    assert (headers["x-lockgate-model"], headers["x-lockgate-provider"]) == ("fast", "oa")
    assert (headers["x-lockgate-technique"], headers["x-lockgate-calls"]) == ("none", "1")
    assert (headers["x-lockgate-cost-usd"], headers["x-lockgate-cost-source"]) == (
        "0.00002",
        "operator",
    )
    assert float(headers["x-lockgate-overhead-ms"]) >= 0
    assert stage.finished.request_id == headers["x-lockgate-request-id"]


async def test_anthropics_clients_get_the_header_that_their_sdk_reads() -> None:
    client = await Stage(whole(), dialect="anthropic").serve(chat(max_tokens=5))

    assert client.headers["request-id"] == client.headers["x-lockgate-request-id"]


async def test_a_model_that_stands_for_many_is_shown_as_asked_and_counted_as_configured() -> None:
    client = await (stage := Stage(whole())).serve(chat(model="gpt-99"))

    assert client.headers["x-lockgate-model"] == "gpt-99"
    assert orjson.loads(stage.upstream.calls[0].body)["model"] == "real-gpt-99"
    assert (stage.finished.model, stage.finished.rows[0].model) == ("gpt-*", "gpt-*")


async def test_why_something_was_done_is_told_where_it_is_not_the_default() -> None:
    plain = await Stage(whole()).serve(chat())
    asked = await Stage(whole()).serve(chat(), {"x-lockgate-technique": "none"})

    assert "x-lockgate-route" not in plain.headers
    assert asked.headers["x-lockgate-route"] == "asked for"


async def test_what_only_the_gateway_reads_does_not_leave_it() -> None:
    stage = Stage(whole())
    wishes = {"session": "s", "tags": "t"}

    await stage.serve(
        chat(reliability=wishes),
        {
            "x-lockgate-run": "r",
            "authorization": "Bearer own",
            "cookie": "c",
            "x-forwarded-for": "1.2.3.4",
        },
    )

    (call,) = stage.upstream.calls
    assert "reliability" not in orjson.loads(call.body)
    sent = " ".join([*call.headers, *call.headers.values()])
    assert not any(word in sent for word in ("lockgate", "own", "cookie", "1.2.3.4"))
    finished = stage.finished
    assert (finished.run, finished.session, finished.tags) == ("r", "s", "t")


async def test_a_body_in_pieces_is_joined() -> None:
    stage = Stage(whole())
    raw = orjson.dumps(chat())
    client = Client()
    pieces = [raw[:10], raw[10:30], raw[30:]]

    async def receive() -> Json:
        if pieces:
            return {
                "type": "http.request",
                "body": pieces.pop(0),
                "more_body": bool(pieces),
            }
        await client.gone.wait()
        return {"type": "http.disconnect"}

    client.receives = receive
    await stage.serve(raw, client=client)

    assert client.status == 200


async def test_a_body_that_is_larger_than_is_taken_is_413_and_not_read_on() -> None:
    stage = Stage(max_body=50)

    client = await stage.serve(chat())

    assert (client.status, client.complete) == (413, True)
    assert stage.upstream.calls == []
    assert stage.finished.outcome == "rejected"


async def test_a_size_that_is_declared_too_large_is_413_before_the_body_is_read() -> None:
    stage = Stage(max_body=50)

    client = await stage.serve(b"{}", {"content-length": "51"})

    assert client.status == 413


async def test_a_declared_size_is_beyond_no_measure() -> None:
    assert (await Stage().serve(b"{}", {"content-length": "9" * 5000})).status == 413


@pytest.mark.parametrize("length", ["²", "many", "", "-1", "0" * 5000 + "5"])
async def test_a_declared_size_that_is_no_number_is_not_believed(length: str) -> None:
    client = await Stage(whole()).serve(chat(), {"content-length": length})

    assert client.status == 200


async def test_a_client_that_leaves_before_its_request_is_whole_gets_nothing() -> None:
    stage = Stage()
    client = Client()

    async def receive() -> Json:
        return {"type": "http.disconnect"}

    client.receives = receive
    await stage.serve(b"", client=client)

    assert client.sent == []
    assert (stage.finished.outcome, stage.finished.status) == ("client_disconnect", 499)


@pytest.mark.parametrize(
    ("body", "headers", "status", "outcome"),
    [
        (b"{", {}, 400, "rejected"),
        (b'{"model":"a","model":"b"}', {}, 400, "rejected"),
        (chat(model="nope"), {}, 404, "rejected"),
        (chat(), {"x-lockgate-max-calls": "many"}, 400, "rejected"),
        (chat(), {"x-lockgate-nope": "1"}, 400, "rejected"),
        (chat(messages=[]), {}, 400, "rejected"),
    ],
)
async def test_a_request_that_is_wrong_is_refused_before_anything_is_sent(
    body: Json, headers: dict[str, str], status: int, outcome: str
) -> None:
    client = await (stage := Stage()).serve(body, headers)

    assert client.status == status
    assert client.json["error"]["message"]
    assert stage.upstream.calls == []
    assert (stage.finished.outcome, stage.finished.status) == (outcome, status)
    assert client.headers["x-lockgate-request-id"] == stage.finished.request_id


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"x-api-key": "other"}, 401),
        ({"authorization": "Bearer \xff\xfe"}, 401),
        ({"x-api-key": "key", "x-lockgate-technique": "self_refine"}, 403),
    ],
)
async def test_who_may_not_is_denied(headers: dict[str, str], status: int) -> None:
    client = await (stage := Stage(door=DOOR)).serve(chat(), headers)

    assert client.status == status
    assert stage.finished.outcome == "denied"


async def test_the_key_behind_a_request_is_recorded_by_its_name() -> None:
    await (stage := Stage(whole(), door=DOOR)).serve(chat(), {"x-api-key": "key"})

    assert stage.finished.key == "team"


async def test_a_bug_costs_its_request_a_500_and_nothing_of_it_is_told() -> None:
    stage = Stage(streamed(ZeroDivisionError("secret detail")))

    with capture_logs() as logged:
        client = await stage.serve(chat())

    assert [line["event"] for line in logged] == ["request.bug"]
    assert client.status == 500
    assert b"secret detail" not in client.content
    assert stage.finished.outcome == "internal_error"


async def test_a_bug_in_mid_stream_is_an_outcome_too() -> None:
    stage = Stage(streamed(*streamed().steps[:2], ZeroDivisionError("secret detail")))

    with capture_logs():
        client = await stage.serve(chat(stream=True))

    assert client.status == 200
    assert b'"internal_error"' in client.content
    assert b"secret detail" not in client.content
    assert b"[DONE]" not in client.content
    assert stage.finished.outcome == "internal_error"


@pytest.mark.parametrize(
    ("count", "attempts"),
    [("0", 3), ("1", 2), ("9", 1), ("²", 3), ("x", 3), ("99999999", 3)],
)
async def test_what_the_clients_sdk_has_tried_already_is_not_tried_again(
    count: str, attempts: int
) -> None:
    stage = Stage(*(refused(503) for _ in range(3)), retries=2)

    client = await stage.serve(chat(), {"x-stainless-retry-count": count})

    assert client.status == 503
    assert len(stage.upstream.calls) == attempts


async def test_a_retry_that_works_is_a_success_of_two_calls() -> None:
    client = await (stage := Stage(refused(503), whole(), retries=1)).serve(chat())

    assert (client.status, client.headers["x-lockgate-calls"]) == (200, "2")
    assert [row.outcome for row in stage.finished.rows] == ["overloaded", "ok"]
    assert stage.finished.outcome == "success"


async def test_a_stream_tells_its_totals_at_its_end_to_who_speaks_lockgate() -> None:
    told = await Stage(streamed()).serve(chat(stream=True), {"x-lockgate-session": "s"})
    plain = await Stage(streamed()).serve(chat(stream=True))

    assert "x-lockgate-calls" not in told.headers
    (comment,) = [line for line in told.content.split(b"\n") if line.startswith(b": lockgate ")]
    trailer = orjson.loads(comment.removeprefix(b": lockgate "))
    assert (trailer["calls"], trailer["cost_usd"], trailer["model"]) == (1, "0.00002", "fast")
    assert trailer["request_id"] == told.headers["x-lockgate-request-id"]
    assert b": lockgate" not in plain.content


async def test_a_warning_never_writes_a_header_of_the_clients_own() -> None:
    odd = {"x\r\nset-cookie: a=1\r\n\r\n<html>\U0001f600": 1}
    stage = Stage(whole(), dialect="anthropic")

    client = await stage.serve(chat(max_tokens=5, **odd))

    told = client.headers["x-lockgate-warnings"]
    assert "field_dropped" in told
    assert told.isprintable()


FILE: Json = {"type": "file", "file": {"name": "a.pdf"}}


async def test_what_is_lost_of_an_answer_is_told_with_it() -> None:
    message = {"role": "assistant", "content": "fine", "annotations": [FILE], "audio": {"id": "a"}}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    answer = whole()
    answer.steps = (orjson.dumps({"choices": [choice]}),)

    client = await Stage(answer, dialect="anthropic").serve(chat(max_tokens=5))

    told = client.headers["x-lockgate-warnings"]
    assert told == "citations_dropped: file; answer_part_dropped: audio"
    assert client.json["content"] == [{"type": "text", "text": "fine"}]


async def test_what_is_lost_of_a_stream_is_told_at_its_end_to_everybody() -> None:
    late = script.chunk({"annotations": [FILE]})
    stage = Stage(streamed(*TOLD[:3], late, TOLD[3], *ENDED), dialect="anthropic")

    client = await stage.serve(chat(stream=True, max_tokens=5))

    assert "x-lockgate-warnings" not in client.headers
    (comment,) = [line for line in client.content.split(b"\n") if line.startswith(b": lockgate ")]
    trailer = orjson.loads(comment.removeprefix(b": lockgate "))
    assert trailer["warnings"] == ["citations_dropped: file"]


async def test_what_the_head_of_a_stream_has_told_is_not_told_again() -> None:
    early = script.chunk({"content": "a", "annotations": [FILE]})
    told = Stage(streamed(early, *TOLD, *ENDED), dialect="anthropic")

    client = await told.serve(chat(stream=True, max_tokens=5, seed=1))

    assert client.headers["x-lockgate-warnings"].startswith("field_dropped: seed")
    assert (b": lockgate " in client.content) is (
        "citations_dropped" not in client.headers["x-lockgate-warnings"]
    )


async def test_a_technique_is_counted_with_all_its_calls() -> None:
    stage = Stage(*(whole("The answer is 4.") for _ in range(9)))

    client = await stage.serve(chat(), {"x-lockgate-technique": "self_consistency"})

    assert client.status == 200
    assert client.headers["x-lockgate-technique"] == "self_consistency"
    assert client.headers["x-lockgate-calls"] == str(len(stage.finished.rows))
    assert len(stage.finished.rows) == len(stage.upstream.calls) > 1


async def test_a_deadline_that_passes_is_408() -> None:
    stage = Stage(streamed(30.0))

    client = await stage.serve(chat(), {"x-lockgate-deadline-ms": "40"})

    assert client.status == 408
    assert stage.finished.outcome == "deadline"
    assert stage.upstream.given[0].closed


async def test_a_client_whose_leaving_shows_only_in_a_write_has_left() -> None:
    def broken(_body: bytes) -> None:
        raise RuntimeError("the transport is closed")

    stage = Stage(streamed())
    await stage.serve(chat(stream=True), client=Client(on_send=broken))

    assert stage.finished.outcome == "client_disconnect"
