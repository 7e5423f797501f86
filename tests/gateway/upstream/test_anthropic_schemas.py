from __future__ import annotations

from dataclasses import replace

import orjson
import pytest
from hypothesis import given

from gateway.upstream.providers.anthropic.schemas import held
from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject
from techniques.core.request import Request, ResponseFormat, Tool, said
from tests.gateway.upstream.anthropic_samples import ANTHROPIC, TARGET
from tests.property.bodies import ANY

HI = said("user", "hi")
PLAIN = Request("m", (HI,), dialect="openai_chat")
BOUNDED: JsonObject = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0}},
    "required": ["age"],
}
HELD: JsonObject = {
    "type": "object",
    "properties": {"age": {"type": "integer", "description": "{minimum: 0}"}},
    "required": ["age"],
    "additionalProperties": False,
}


LOST: list[str] = []
"""What is lost where nobody looks."""


def sent(request: Request) -> JsonObject:
    body: JsonObject = orjson.loads(ANTHROPIC.encode(request, TARGET).body)
    return body


@pytest.mark.parametrize(
    ("said_so", "taken"),
    [
        (BOUNDED, HELD),
        (
            {"type": "array", "items": BOUNDED, "minItems": 1},
            {"type": "array", "items": HELD, "minItems": 1},
        ),
        (
            {"type": "array", "minItems": 2, "maxItems": 3},
            {"type": "array", "description": "{minItems: 2, maxItems: 3}"},
        ),
        (
            {"$ref": "#/$defs/A", "description": "x", "$defs": {"A": BOUNDED}},
            {"$ref": "#/$defs/A", "$defs": {"A": HELD}},
        ),
        (
            {"anyOf": [BOUNDED, {"type": "null"}], "default": None},
            {"anyOf": [HELD, {"type": "null"}], "default": None},
        ),
        ({"oneOf": [BOUNDED]}, {"anyOf": [HELD]}),
        ({"allOf": [{"$ref": "#/$defs/A"}], "default": 1}, {"$ref": "#/$defs/A"}),
        (
            {"type": "string", "format": "email", "pattern": "^a+$"},
            {"type": "string", "format": "email", "pattern": "^a+$"},
        ),
        (
            {"type": "string", "description": "A word.", "format": "color", "pattern": "(?=a)"},
            {"type": "string", "description": 'A word.\n\n{format: "color", pattern: "(?=a)"}'},
        ),
        (
            {"type": "object", "properties": {"minimum": {"type": "string", "minLength": 1}}},
            {
                "type": "object",
                "properties": {"minimum": {"type": "string", "description": "{minLength: 1}"}},
                "additionalProperties": False,
            },
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        ({"enum": [{"minimum": 1}]}, {"enum": [{"minimum": 1}]}),
    ],
)
def test_a_schema_is_brought_into_what_can_be_held_to(said_so: Json, taken: Json) -> None:
    assert held(said_so, LOST.append) == taken
    assert held(taken, pytest.fail) == taken


def test_a_form_and_a_strict_tool_of_another_dialect_are_held_to_an_own_one_is_as_it_came() -> None:
    form = ResponseFormat("json_schema", BOUNDED, "n", strict=True)
    tools = (Tool("f", parameters=BOUNDED, strict=True), Tool("g", parameters=BOUNDED))
    asked = replace(PLAIN, response_format=form, tools=tools)

    foreign, own = sent(asked), sent(replace(asked, dialect="anthropic"))

    assert foreign["output_config"]["format"]["schema"] == HELD
    assert [tool["input_schema"] for tool in foreign["tools"]] == [HELD, BOUNDED]
    assert own["output_config"]["format"]["schema"] == BOUNDED
    assert [tool["input_schema"] for tool in own["tools"]] == [BOUNDED, BOUNDED]


def test_what_is_told_and_not_held_to_is_named_once() -> None:
    twice: JsonObject = {"type": "object", "properties": {"a": BOUNDED, "b": BOUNDED}}
    form = ResponseFormat("json_schema", twice, "n")
    tool = Tool("f", parameters=BOUNDED, strict=True)

    call = ANTHROPIC.encode(replace(PLAIN, response_format=form, tools=(tool,)), TARGET)

    assert {(warned.code, warned.detail) for warned in call.warnings} == {
        ("field_dropped", "response_format.minimum"),
        ("field_dropped", "tools.minimum"),
    }
    assert len(call.warnings) == 2
    with pytest.raises(RequestRejected):
        ANTHROPIC.encode(replace(PLAIN, response_format=form, strict=True), TARGET)


@given(ANY)
def test_whatever_stands_in_a_schema_it_is_written(schema: Json) -> None:
    form = ResponseFormat("json_schema", {"properties": {"a": schema}, "anyOf": schema}, "n")

    sent(replace(PLAIN, response_format=form))
