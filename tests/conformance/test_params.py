"""Parameters: none lost, none added, none passed off as something else."""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from tests.conformance.stage import ASKED, CHAT_TOOLS, Stage, technique
from tests.fakes import script
from tests.fakes.script import begin, chunk, done, finish, sse


@pytest.mark.case("PAR-01")
def test_a_reasoning_model_gets_the_limit_it_knows_and_no_temperature(stage: Stage) -> None:
    stage.upstream.plays(script.completion())

    answer = stage.chat(model="oa-reason", max_tokens=50, temperature=0.2)

    body = stage.upstream.asked[0].body
    assert body["max_completion_tokens"] == 50
    assert "max_tokens" not in body
    assert "temperature" not in body
    assert "temperature" in answer.headers["x-lockgate-warnings"]


@pytest.mark.case("PAR-01")
def test_of_two_limits_only_the_newer_is_sent(stage: Stage) -> None:
    stage.upstream.plays(script.completion())

    stage.chat(model="oa-reason", max_tokens=50, max_completion_tokens=60)

    body = stage.upstream.asked[0].body
    assert body["max_completion_tokens"] == 60
    assert "max_tokens" not in body


@pytest.mark.case("PAR-01")
def test_an_ordinary_model_gets_what_was_sent(stage: Stage) -> None:
    stage.upstream.plays(script.completion())

    stage.chat(max_tokens=50, temperature=0.2)

    body = stage.upstream.asked[0].body
    assert (body["max_tokens"], body["temperature"]) == (50, 0.2)
    assert "max_completion_tokens" not in body


@pytest.mark.case("PAR-02")
@pytest.mark.parametrize(("model", "role"), [("oa-plain", "system"), ("oa-model", "developer")])
def test_a_developer_turn_goes_under_a_name_the_model_knows(
    stage: Stage, model: str, role: str
) -> None:
    stage.upstream.plays(script.completion())

    stage.chat(model=model, messages=[{"role": "developer", "content": "be brief"}, *ASKED])

    first = stage.upstream.asked[0].body["messages"][0]
    assert first["role"] == role
    assert "be brief" in str(first["content"])


@pytest.mark.case("PAR-02")
@pytest.mark.parametrize(("model", "role"), [("oa-plain", "system"), ("oa-model", "developer")])
def test_a_developer_item_goes_under_a_name_the_model_knows(
    stage: Stage, model: str, role: str
) -> None:
    stage.upstream.plays(script.completion())

    stage.responses(model=model, input=[{"role": "developer", "content": "be brief"}, *ASKED])

    first = stage.upstream.asked[0].body["messages"][0]
    assert (first["role"], first["content"]) == (role, "be brief")


@pytest.mark.case("PAR-03")
def test_every_field_reaches_a_provider_of_the_same_dialect(stage: Stage) -> None:
    fields: dict[str, Json] = {
        "n": 2,
        "seed": 11,
        "stop": ["FIN"],
        "logit_bias": {"42": -2},
        "presence_penalty": 0.25,
        "frequency_penalty": 0.5,
        "logprobs": True,
        "top_logprobs": 3,
        "parallel_tool_calls": False,
        "tools": CHAT_TOOLS,
        "store": True,
        "metadata": {"team": "tides"},
        "service_tier": "flex",
        "prediction": {"type": "content", "content": "perhaps"},
        "user": "u7",
        "a_field_of_next_year": {"deep": [1, None]},
    }
    first, second = (
        {"index": at, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        for at, said in enumerate("ab")
    )
    stage.upstream.plays(script.choices(first, second))

    answer = stage.chat(**fields)

    body = stage.upstream.asked[0].body
    assert {name: body.get(name) for name in fields} == fields
    assert [choice["message"]["content"] for choice in answer.json["choices"]] == ["a", "b"]


@pytest.mark.case("PAR-03")
def test_two_choices_of_a_provider_with_one_are_two_or_refused(stage: Stage) -> None:
    stage.upstream.chooses(lambda _asked: script.message())

    answer = stage.chat(model="an-model", n=2)

    if answer.status == 200:
        assert [choice["index"] for choice in answer.json["choices"]] == [0, 1]
        assert len(stage.upstream.asked) == 2
    else:
        assert answer.status == 400
        assert answer.json["error"]["param"] == "n"


TIDE: Json = {
    "type": "object",
    "properties": {"tide": {"type": "integer"}},
    "required": ["tide"],
    "additionalProperties": False,
}


def answer_in_kind(asked: Json) -> script.Answer:
    """Answer as Anthropic does, by the tool that must be used if there is one."""
    choice = asked.body.get("tool_choice") or {}
    if choice.get("type") == "tool":
        used = {"type": "tool_use", "id": "t1", "name": choice["name"], "input": {"tide": 1}}
        return script.message([used], "tool_use")
    return script.message('{"tide":1}')


def is_enforced(body: Json) -> bool:
    """Return whether what Anthropic is asked makes it keep to the schema."""
    native = body.get("output_config") or body.get("output_format")
    forced = [tool["input_schema"] for tool in body.get("tools", [])]
    return TIDE in forced or bool(native and "tide" in str(native))


@pytest.mark.case("PAR-04")
def test_a_schema_is_enforced_by_anthropic_or_refused(stage: Stage) -> None:
    named = {"name": "report", "strict": True, "schema": TIDE}
    stage.upstream.chooses(answer_in_kind)

    form = {"type": "json_schema", "json_schema": named}
    answer = stage.chat(model="an-model", response_format=form)

    if answer.status == 400:
        assert "response_format" in str(answer.json)
        return
    assert is_enforced(stage.upstream.asked[0].body)
    said = answer.json["choices"][0]
    assert said["finish_reason"] == "stop"
    assert said["message"]["content"].replace(" ", "") == '{"tide":1}'


@pytest.mark.case("PAR-04")
@pytest.mark.parametrize("strict", [True, None])
def test_a_schema_of_a_response_is_enforced_by_anthropic_or_refused(
    stage: Stage, *, strict: bool | None
) -> None:
    stage.upstream.chooses(answer_in_kind)

    form = {"type": "json_schema", "name": "report", "strict": strict, "schema": TIDE}
    answer = stage.responses(model="an-model", text={"format": form})

    if answer.status == 400:
        assert "response_format" in str(answer.json)
        return
    assert is_enforced(stage.upstream.asked[0].body)
    assert answer.json["status"] == "completed"
    [message] = answer.json["output"]
    assert message["content"][0]["text"].replace(" ", "") == '{"tide":1}'


@pytest.mark.case("PAR-06")
def test_refusals_and_logprobs_reach_a_streaming_client(stage: Stage) -> None:
    likely = {
        "content": [{"token": "a", "logprob": -0.25, "bytes": [97], "top_logprobs": []}],
        "refusal": None,
    }
    stage.upstream.plays(
        sse(
            begin(),
            chunk({"refusal": "I may "}),
            chunk({"refusal": "not"}),
            chunk({"content": "a"}, logprobs=likely),
            finish(),
            done(),
        )
    )

    answer = stage.chat_stream(logprobs=True)

    assert answer.joined("refusal") == "I may not"
    found = [choice["logprobs"] for choice in answer.choices if choice.get("logprobs")]
    assert found == [likely]


@pytest.mark.case("PAR-08")
@pytest.mark.parametrize("name", ["best_of_n", "self_consistency", "none"])
def test_what_only_the_gateway_reads_stays_here(stage: Stage, name: str) -> None:
    stage.upstream.chooses(lambda _asked: script.completion("42"))
    wishes = {"technique": name, "max_calls": 9, "tags": "team=tides"}
    if name != "none":
        wishes["params"] = {"num_samples": 2}

    answer = stage.chat(reliability=wishes)

    assert answer.status == 200, answer.body
    known = {
        "model",
        "messages",
        "stream",
        "stream_options",
        "temperature",
        "seed",
        "max_tokens",
        "max_completion_tokens",
        "response_format",
        "top_p",
    }
    for asked in stage.upstream.asked:
        assert set(asked.body) <= known
    if name == "none":
        assert set(stage.upstream.asked[0].body) == {"model", "messages"}


@pytest.mark.case("PAR-08")
def test_a_wish_in_a_header_leaves_no_trace_upstream(stage: Stage) -> None:
    stage.upstream.chooses(lambda _asked: script.completion("42"))

    stage.chat(headers=technique("best_of_n", num_samples=2))

    for asked in stage.upstream.asked:
        assert not [name for name, _ in asked.headers if "lockgate" in name]
        assert "reliability" not in asked.body


@pytest.mark.case("PAR-10")
@pytest.mark.parametrize("limit", [0, -1])
@pytest.mark.parametrize("model", ["oa-model", "an-model"])
@pytest.mark.parametrize("surface", ["chat", "messages"])
def test_a_limit_of_nothing_is_never_read_as_no_limit(
    stage: Stage, limit: int, model: str, surface: str
) -> None:
    stage.upstream.chooses(
        lambda asked: script.message() if asked.path == "/v1/messages" else script.completion()
    )

    ask = stage.chat if surface == "chat" else stage.messages
    answer = ask(model=model, max_tokens=limit)

    if answer.status != 400:
        body = stage.upstream.asked[0].body
        assert body.get("max_tokens", body.get("max_completion_tokens")) == limit
