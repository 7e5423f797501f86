from __future__ import annotations

import orjson
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from gateway.responses.replay import number_of, replayed
from techniques.core.json import Json, JsonObject

EVENT: TypeAdapter[Json] = TypeAdapter(ResponseStreamEvent)
OUTPUT: list[Json] = [
    {"id": "rs_0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "Yes.", "annotations": [], "logprobs": []},
            {"type": "refusal", "refusal": "No."},
        ],
    },
    {
        "id": "fc_2",
        "type": "function_call",
        "status": "completed",
        "call_id": "c",
        "name": "f",
        "arguments": "{}",
    },
    {
        "id": "ctc_3",
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": "d",
        "name": "g",
        "input": "raw",
    },
    {"id": "ws_4", "type": "web_search_call", "status": "completed", "action": {"type": "search"}},
]
TOLD: JsonObject = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "status": "completed",
    "output": OUTPUT,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": None,
}


def events(frames: list[bytes]) -> list[JsonObject]:
    told = []
    for frame in frames:
        name, data, *_ = frame.split(b"\n")
        told.append(orjson.loads(data[6:]))
        assert name == b"event: " + told[-1]["type"].encode()
    return told


def test_each_event_is_one_of_the_api_and_together_they_say_all() -> None:
    told = events(replayed(TOLD))

    for event in told:
        EVENT.validate_python(event)
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert told[-1] == {
        "type": "response.completed",
        "response": TOLD,
        "sequence_number": len(told) - 1,
    }
    done = [event["item"] for event in told if event["type"] == "response.output_item.done"]
    assert done == OUTPUT
    said = "".join(event["delta"] for event in told if event["type"].endswith(".delta"))
    assert said == "Hm.Yes.No.{}raw"


def test_who_has_heard_some_gets_what_is_behind_it_and_always_the_end() -> None:
    whole = replayed(TOLD)
    for after in range(len(whole) - 1):
        assert replayed(TOLD, after) == whole[after + 1 :]
    for after in (len(whole) - 1, 500):
        (last,) = replayed(TOLD, after)
        assert number_of(last) == after + 1
        assert events([last])[0]["response"] == TOLD


def test_what_did_not_come_to_an_answer_ends_so() -> None:
    for status, kind in (("failed", "failed"), ("cancelled", "failed"), ("incomplete",) * 2):
        last = events(replayed(TOLD | {"status": status, "output": []}))[-1]
        assert (last["type"], last["response"]["status"]) == (f"response.{kind}", status)
