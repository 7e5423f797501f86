from __future__ import annotations

from typing import Any

import jsonschema_rs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.patterns import sample
from gateway.upstream.simulated.schema import instance
from gateway.upstream.simulated.settings import Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from techniques.core.json import Json, JsonObject
from tests.gateway.upstream.simulated_calls import Got, ask, said


def tool(name: str, properties: JsonObject, description: str = "") -> JsonObject:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


WEATHER = tool("get_weather", {"city": {"type": "string"}}, "Current weather in a city")
ADD = tool("add", {"a": {"type": "integer"}, "b": {"type": "integer"}}, "Add two numbers")
PING = {"type": "function", "function": {"name": "ping"}}


def calls(got: Got) -> list[tuple[str, Any]]:
    made = got.body["choices"][0]["message"].get("tool_calls") or []
    return [(c["function"]["name"], orjson.loads(c["function"]["arguments"])) for c in made]


async def steady(text: str, **body: Any) -> Got:
    """Ask a model that hardly errs."""
    return await ask(SimulatedTransport(Simulation(seed=1)), text, model="sim-large", **body)


async def test_a_tool_that_the_question_suggests_is_called_with_what_it_says() -> None:
    got = await steady("What's the weather in New York?", tools=[ADD, WEATHER], seed=1)

    assert calls(got) == [("get_weather", {"city": "New York"})]
    assert got.body["choices"][0]["finish_reason"] == "tool_calls"
    assert got.body["choices"][0]["message"]["content"] is None


async def test_numbers_of_the_question_become_arguments_in_order() -> None:
    got = await steady("Please add 3 and 41.", tools=[WEATHER, ADD], seed=1)

    assert calls(got) == [("add", {"a": 3, "b": 41})]


async def test_two_places_give_two_parallel_calls_unless_forbidden() -> None:
    question = "What's the weather in Paris and Oslo?"

    both = await steady(question, tools=[WEATHER], seed=1)
    one = await steady(question, tools=[WEATHER], seed=1, parallel_tool_calls=False)

    assert [arguments["city"] for _, arguments in calls(both)] == ["Paris", "Oslo"]
    assert len(calls(one)) == 1
    ids = [call["id"] for call in both.body["choices"][0]["message"]["tool_calls"]]
    assert len(set(ids)) == 2


async def test_tools_that_do_not_fit_the_question_are_left_alone() -> None:
    got = await steady("Tell me a joke.", tools=[WEATHER, ADD])

    assert calls(got) == []
    assert got.text


@pytest.mark.parametrize(
    ("prompt", "called"),
    [
        ("<note>\nAdd get_weather\n</note>\nTell me a joke.", []),
        ("Tell me a joke.\n<note>get_weather</note>\n<more>\nadd\n</more>", []),
        ("<note>add</note> Weather in Rome?", ["get_weather"]),
        ("<note>Weather in Rome?</note>", ["get_weather"]),
        ("<note>Weather in Rome?", ["get_weather"]),
        ("Is 1 <add> 2 in get_weather </add>?", ["get_weather", "add"]),
        ("<note>\n<inner>\nadd\n</inner>\nget_weather\n</note>\nTell me a joke.", []),
    ],
)
async def test_what_an_agent_says_beside_its_users_words_suggests_no_tool(
    prompt: str, called: list[str]
) -> None:
    got = await steady(prompt, tools=[WEATHER, ADD], seed=1)

    assert [name for name, _ in calls(got)] == called


async def test_tool_choice_is_obeyed() -> None:
    ping = {"type": "function", "function": {"name": "ping"}}

    required = await steady("Hello", tools=[WEATHER, PING], tool_choice="required")
    named = await steady("Weather in Rome?", tools=[WEATHER, PING], tool_choice=ping)
    none = await steady("Weather in Rome?", tools=[WEATHER], tool_choice="none")

    assert len(calls(required)) == 1
    assert calls(named) == [("ping", {})]
    assert calls(none) == []


async def test_tool_results_are_told_in_prose() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    turns = [
        *said("Weather in Rome?"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "21 C and sunny"},
    ]

    got = await steady("", messages=turns, tools=[WEATHER])

    assert "21 C and sunny" in got.text
    assert calls(got) == []


async def test_an_erring_model_calls_with_other_arguments_that_still_fit() -> None:
    transport = SimulatedTransport()
    cities = []
    for seed in range(40):
        got = await ask(transport, "Weather in Rome?", tools=[WEATHER], seed=seed)
        cities += [arguments["city"] for _, arguments in calls(got)]

    assert len(cities) == 40
    assert 15 < cities.count("Rome") < 40


def schemas() -> st.SearchStrategy[JsonObject]:
    bounds = st.integers(-50, 50)
    leaves = st.one_of(
        st.just({"type": "boolean"}),
        st.just({"type": "null"}),
        st.sampled_from(["date", "date-time", "email", "uuid", "uri", "ipv4"]).map(
            lambda name: {"type": "string", "format": name}
        ),
        st.integers(0, 30).map(lambda n: {"type": "string", "minLength": n, "maxLength": n + 2}),
        bounds.map(lambda n: {"type": "integer", "minimum": n, "maximum": n + 3}),
        bounds.map(lambda n: {"type": "integer", "exclusiveMinimum": n, "multipleOf": 3}),
        bounds.map(lambda n: {"type": "number", "exclusiveMaximum": n}),
        st.lists(st.one_of(st.integers(), st.text(max_size=5), st.none()), min_size=1).map(
            lambda options: {"enum": options}
        ),
        st.text(max_size=5).map(lambda value: {"const": value}),
        st.sampled_from([{"type": ["string", "null"]}, {"$ref": "#/$defs/leaf"}, {}]),
    )

    def grown(inner: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
        names = st.sampled_from(["answer", "city", "steps", "n", "x y", "reason"])
        return st.one_of(
            st.dictionaries(names, inner, max_size=4).map(closed),
            st.tuples(inner, st.integers(0, 3)).map(
                lambda pair: {"type": "array", "items": pair[0], "minItems": pair[1]}
            ),
            st.lists(inner, min_size=1, max_size=3).map(lambda many: {"anyOf": many}),
        )

    return st.recursive(leaves, grown, max_leaves=8).map(
        lambda schema: schema | {"$defs": {"leaf": {"type": "integer", "minimum": 7}}}
    )


def closed(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@settings(max_examples=150, deadline=None)
@given(schemas(), st.integers())
def test_an_instance_is_what_its_schema_allows(schema: JsonObject, seed: int) -> None:
    def suggest(name: str, field: JsonObject) -> list[Json]:
        return [391, "391"] if name == "answer" else []

    made = instance(schema, Dice(seed), suggest)

    assert jsonschema_rs.is_valid(schema, made)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[A-Z]{3}-\d{2,}$",
        r"^(foo|bar)+$",
        r"^\+?[1-9]\d{1,14}$",
        r"^[^@ ]+@[a-z]+\.com$",
        r"\w\s\w",
    ],
)
def test_a_pattern_is_matched(pattern: str) -> None:
    text = sample(pattern)

    assert text is not None
    assert jsonschema_rs.is_valid({"pattern": pattern}, text)


async def test_a_recursive_schema_comes_to_an_end() -> None:
    node = closed(
        {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}
    )
    schema = closed({"root": {"$ref": "#/$defs/node"}}) | {"$defs": {"node": node}}

    got = await shaped("hello", schema)

    assert jsonschema_rs.is_valid(schema, got)


@pytest.mark.parametrize(
    "schema", [{"$ref": "#"}, closed({"a": {"$ref": "#"}}), {"minItems": 10**9, "type": "array"}]
)
async def test_a_schema_that_nothing_finite_fits_does_no_harm(schema: JsonObject) -> None:
    await shaped("hello", schema)


async def test_a_schema_that_is_none_is_rejected() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": 3}}}

    assert (await ask(SimulatedTransport(), response_format=form)).status == 400


async def shaped(question: str, schema: JsonObject, **body: Any) -> Any:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
    got = await steady(question, response_format=form, **body)
    return orjson.loads(got.text)


async def test_the_solved_answer_stands_in_the_field_that_asks_for_it() -> None:
    schema = closed({"explanation": {"type": "string"}, "answer": {"type": "integer"}})

    answers = [(await shaped("What is 17 * 23?", schema, seed=s))["answer"] for s in range(20)]

    assert answers.count(391) >= 14
    assert len(set(answers)) > 1


async def test_json_mode_gives_an_object_with_the_answer() -> None:
    got = await steady(
        "What is the capital of Norway?", response_format={"type": "json_object"}, seed=1
    )

    assert orjson.loads(got.text)["answer"] == "Oslo"
