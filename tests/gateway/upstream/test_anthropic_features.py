from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from gateway.upstream.provider import Target
from techniques.core.capabilities import Capabilities
from techniques.core.errors import RequestRejected
from techniques.core.json import JsonObject
from techniques.core.request import (
    Image,
    Message,
    Opaque,
    Request,
    ResponseFormat,
    Sampling,
    Tool,
    ToolChoice,
    said,
)
from tests.gateway.upstream.anthropic_calls import HI, asked, refused, sent, warnings
from tests.gateway.upstream.anthropic_samples import ANTHROPIC, TARGET

F = Tool("f", "Does f.", {"type": "object", "properties": {"x": {"type": "string"}}})
MARK = {"type": "ephemeral"}


def able(**capabilities: Any) -> Target:
    return replace(TARGET, capabilities=Capabilities(**capabilities))


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        (ToolChoice("none"), {"type": "none"}),
        (ToolChoice("none", parallel=False), {"type": "none"}),
        (ToolChoice("required"), {"type": "any"}),
        (ToolChoice("auto"), {"type": "auto"}),
        (ToolChoice("named", "f"), {"type": "tool", "name": "f"}),
        (ToolChoice(parallel=False), {"type": "auto", "disable_parallel_tool_use": True}),
        (
            ToolChoice("named", "f", parallel=False),
            {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        ),
        (ToolChoice("required", parallel=True), {"type": "any"}),
    ],
)
def test_tool_choices_keep_their_mode(choice: ToolChoice, value: JsonObject) -> None:
    """ANT-14, ANT-15."""
    assert sent(asked(tools=(F,), tool_choice=choice))["tool_choice"] == value


def test_no_choice_is_sent_without_tools() -> None:
    assert "tool_choice" not in sent(asked(tool_choice=ToolChoice("auto")))


def test_tools_always_have_a_schema_and_keep_their_cache_mark() -> None:
    """ANT-11."""
    bare = Tool("g", cache=MARK)

    assert sent(asked(tools=(F, bare)))["tools"] == [
        {"name": "f", "description": "Does f.", "input_schema": F.parameters},
        {"name": "g", "input_schema": {"type": "object"}, "cache_control": MARK},
    ]


def test_tools_of_the_server_are_for_their_own_dialect() -> None:
    search = Opaque("anthropic", {"type": "web_search_20250305", "name": "web_search"})

    assert sent(asked(tools=(search,), dialect="anthropic"))["tools"] == [search.value]
    assert refused(asked(tools=(replace(search, dialect="openai_chat"),))) == "tools"


def test_a_schema_is_sent_in_the_native_form_or_refused() -> None:
    """PAR-04."""
    form = ResponseFormat("json_schema", schema={"type": "object"}, name="n", strict=True)

    assert sent(asked(response_format=form))["output_config"] == {
        "format": {"type": "json_schema", "schema": {"type": "object"}}
    }
    assert refused(asked(response_format=form), able(json_schema=False)) == "response_format"


def test_a_json_object_is_asked_for_in_words() -> None:
    request = asked(said("system", "S"), HI, response_format=ResponseFormat("json_object"))
    encoded = ANTHROPIC.encode(request, TARGET)
    system = orjson.loads(encoded.body)["system"]

    assert system[0]["text"] == "S"
    assert "JSON" in system[1]["text"]
    assert ("json_object_by_instruction", "response_format") in warnings(encoded)


@pytest.mark.parametrize(
    ("target", "request_", "param"),
    [
        (able(tools=False), asked(tools=(F,)), "tools"),
        (able(vision=False), asked(Message("user", (Image(url="https://x"),))), "image_url"),
        (TARGET, asked(sampling=Sampling(n=2)), "n"),
        (TARGET, asked(sampling=Sampling(logprobs=True)), "logprobs"),
        (TARGET, asked(extra={"modalities": ["text", "audio"]}), "modalities"),
        (TARGET, asked(extra={"web_search_options": {"x": 1}}), "web_search_options"),
        (TARGET, asked(extra={"web_search_options": {}}), "web_search_options"),
    ],
)
def test_a_feature_that_is_missing_is_refused_by_name(
    target: Target, request_: Request, param: str
) -> None:
    """PAR-03."""
    assert refused(request_, target) == param


@pytest.mark.parametrize(
    ("lacks", "request_"),
    [
        ("tools", asked(tools=(F,))),
        ("vision", asked(Message("user", (Image(url="https://x"),)))),
    ],
)
def test_a_model_that_lacks_a_feature_has_the_name_that_its_client_knows(
    lacks: str, request_: Request
) -> None:
    one = replace(able(**{lacks: False}), name="anthropic/*", asked="anthropic/claude-0")

    with pytest.raises(RequestRejected, match="anthropic/claude-0 "):
        ANTHROPIC.encode(request_, one)
