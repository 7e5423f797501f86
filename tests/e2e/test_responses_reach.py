"""The Responses surface has all that the others have: techniques, runs, routing, views, limits."""

from __future__ import annotations

import json

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Turn, streamed, whole
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import KEYS

EVENTS: TypeAdapter[Json] = TypeAdapter(ResponseStreamEvent)
ANSWER = Turn(parts=("Four", "teen."))
VOTES: Json = {"technique": "self_consistency", "params": {"num_samples": 3}}


def asked(scene: Scene, headers: dict[str, str] | None = None, **fields: Json) -> Exchange:
    body = {"model": "sim-large", "input": "What is 17 * 23?", **fields}
    own = {"authorization": f"Bearer {KEYS['k1']}", **(headers or {})}
    content = json.dumps(body).encode()
    return Exchange(scene.gateway.port, request("/v1/responses", content, own))


def told(scene: Scene, headers: dict[str, str] | None = None, **fields: Json) -> Reply:
    with asked(scene, headers, **fields) as exchange:
        return exchange.whole()


def events(scene: Scene, headers: dict[str, str] | None = None, **fields: Json) -> list[Json]:
    """Return the events of a stream, each of which is one of the SDK's."""
    with asked(scene, headers, stream=True, **fields) as exchange:
        said = [event.json for event in exchange.events() if event.data is not None]
    for event in said:
        EVENTS.validate_python(event)
    return said


def test_a_technique_answers_whole_and_streamed(scene: Scene) -> None:
    answer = told(scene, reliability=VOTES)
    *_, last = events(scene, reliability=VOTES)

    Response.model_validate(answer.json)
    assert answer.headers["x-lockgate-technique"] == "self_consistency"
    assert answer.json["usage"]["lockgate"]["calls"] == int(answer.headers["x-lockgate-calls"])
    for response in (answer.json, last["response"]):
        assert response["status"] == "completed"
        # The third draw is not begun where the first two came soon enough, and agree.
        assert response["usage"]["lockgate"]["calls"] in {2, 3}
        assert response["usage"]["lockgate"]["total_tokens"] > response["usage"]["total_tokens"]
    assert "reliability" not in str(answer.json)


@pytest.mark.parametrize("model", MODELS)
def test_a_technique_asks_every_provider(scene: Scene, model: str) -> None:
    scene.upstream.chooses(lambda sent: _played(model, sent))
    asks: Json = {"model": model, "instructions": "Be brief."}

    answer = told(scene, reliability=VOTES, **asks)
    *_, last = events(scene, reliability=VOTES, **asks)

    for response in (answer.json, last["response"]):
        assert response["output"][0]["content"][0]["text"] == ANSWER.text
        assert response["id"].startswith("resp_")
    assert len(scene.upstream.asked) == 6
    assert all("Be brief." in str(sent.body) for sent in scene.upstream.asked)


def _played(model: str, sent: Json) -> Json:
    return streamed(model, ANSWER) if sent.body.get("stream") else whole(model, ANSWER)


def test_the_trailer_stands_before_the_last_event(scene: Scene) -> None:
    with asked(scene, {"x-lockgate-session": "s1"}, stream=True) as exchange:
        raw = exchange.whole().body

    comment = raw.index(b": lockgate {")
    assert raw.index(b"response.output_item.done") < comment
    assert comment < raw.rindex(b"event: response.completed")
    trailer = json.loads(raw[comment + len(": lockgate ") :].split(b"\n", 1)[0])
    assert trailer["calls"] == 1
    last = json.loads(raw.rsplit(b"data: ", 1)[1])
    assert last["response"]["usage"]["lockgate"]["cost_usd"] == trailer["cost_usd"]


def test_a_trace_is_told_in_comments_or_in_the_body(scene: Scene) -> None:
    wish = {**VOTES, "expose": "trace"}
    answer = told(scene, reliability=wish)
    with asked(scene, reliability=wish, stream=True) as exchange:
        raw = exchange.whole().body

    assert {piece["kind"] for piece in answer.json["lockgate"]["trace"]} >= {"text"}
    assert raw.count(b": trace {") >= 3


def test_a_draft_is_shown_as_reasoning_and_is_taken_out_when_it_comes_back(scene: Scene) -> None:
    scene.upstream.chooses(lambda sent: _played("oa-model", sent))
    params = {"num_samples": 3, "stop_at": 1.0}
    wish: Json = {"technique": "best_of_n", "params": params, "expose": "optimistic"}
    said = events(scene, model="oa-model", reliability=wish)
    output = said[-1]["response"]["output"]

    assert [item["type"] for item in output] == ["reasoning", "message"]
    assert "best answer so far" in output[0]["summary"][0]["text"]
    scene.upstream.forget()
    scene.upstream.plays(whole("oa-model", ANSWER))
    again: list[Json] = [
        {"role": "user", "content": "a"},
        *output,
        {"role": "user", "content": "b"},
    ]
    assert told(scene, model="oa-model", input=again).status == 200
    assert "best answer so far" not in str(scene.upstream.asked[0].body)


def test_a_slug_or_a_header_chooses_how_it_is_answered(scene: Scene) -> None:
    routed = told(scene, model="auto/sim-small")
    forced = told(scene, {"x-lockgate-technique": "best_of_n"})

    assert routed.status == 200, routed.body
    assert routed.headers["x-lockgate-model"].startswith("sim-")
    assert "x-lockgate-route" in routed.headers
    assert forced.headers["x-lockgate-technique"] == "best_of_n"


def test_a_loss_is_a_warning_or_under_strict_a_refusal(scene: Scene) -> None:
    scene.upstream.plays(whole("an-model", ANSWER))
    asks: Json = {"model": "an-model", "prompt_cache_key": "k"}

    answer = told(scene, **asks)
    strict = told(scene, {"x-lockgate-strict": "true"}, **asks)

    assert answer.headers["x-lockgate-warnings"] == "field_dropped: prompt_cache_key"
    assert (strict.status, strict.json["error"]["param"]) == (400, "prompt_cache_key")


def test_what_agents_send_every_time_is_no_loss(scene: Scene) -> None:
    for model in ("oa-model", "an-model"):
        scene.upstream.plays(whole(model, ANSWER))
        answer = told(
            scene,
            {"x-lockgate-strict": "true"},
            model=model,
            store=False,
            include=["reasoning.encrypted_content"],
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
            truncation="disabled",
            stream=False,
            text={"verbosity": "medium"},
            service_tier="auto",
        )
        assert answer.status == 200, answer.body
        assert "x-lockgate-warnings" not in answer.headers


def test_requests_are_named_and_errors_are_openais(scene: Scene) -> None:
    good = told(scene)
    unknown = told(scene, model="nobody")
    keyless = told(scene, {"authorization": "Bearer wrong"})
    with pytest.raises(openai.NotFoundError):
        scene.chat.responses.create(model="nobody", input="a")

    assert good.headers["x-request-id"] == good.headers["x-lockgate-request-id"]
    assert good.json["id"].startswith("resp_")
    assert (unknown.status, unknown.json["error"]["code"]) == (404, "model_not_found")
    assert (keyless.status, keyless.json["error"]["code"]) == (401, "invalid_api_key")


def test_a_wish_that_is_wrong_is_refused_by_its_name(scene: Scene) -> None:
    answer = told(scene, reliability={"technique": "nothing_like_it"})

    assert answer.status == 400
    assert answer.json["error"]["code"] == "unknown_technique"


@pytest.mark.parametrize("model", MODELS)
def test_a_failure_before_the_answer_has_its_status_and_after_it_an_event(
    scene: Scene, model: str
) -> None:
    begun = streamed(model, Turn(parts=("Hel", "lo")))
    cut = type(begun)(begun.writes[:5], headers=begun.headers, framing="chunked", end="reset")
    scene.upstream.plays(cut)

    with asked(scene, model=model, stream=True) as exchange:
        assert exchange.status == 200
        said = [event.json for event in exchange.events() if event.data is not None]

    assert said[-1]["type"] == "response.failed"
    assert said[-1]["response"]["error"]["message"]
    numbers = [event["sequence_number"] for event in said]
    assert numbers == sorted(set(numbers))
    assert len({event["response"]["id"] for event in said if "response" in event}) == 1
