"""What a provider cannot be told is named, also where it is told something like it."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from gateway.upstream.provider import HttpCall, Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from techniques.core.capabilities import Capabilities
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json
from techniques.core.request import (
    Message,
    Request,
    ResponseFormat,
    Sampling,
    ThinkingWish,
    said,
)

HI = said("user", "hi")
CHAT = Request("m", (HI,), dialect="openai_chat", sampling=Sampling(max_output_tokens=9))
FIRST_ONLY = Target("m", "p", "m", Capabilities(many_systems=False, developer_role=False))
BOTH = pytest.mark.parametrize(
    ("provider", "target"),
    [(Anthropic(), Target("m", "p", "m")), (OpenAIChat(), FIRST_ONLY)],
    ids=["anthropic", "openai_chat"],
)


def body(call: HttpCall) -> Json:
    """Return the body of *call*, read."""
    return orjson.loads(call.body)


@BOTH
@pytest.mark.parametrize("role", ["system", "developer"])
def test_instructions_that_are_moved_to_the_start_are_named(
    provider: Provider, target: Target, role: str
) -> None:
    later = Message("system" if role == "system" else "developer", said("user", "Be brief.").parts)
    request = replace(
        CHAT, messages=(said("system", "One."), HI, said("assistant", "?"), later, HI)
    )

    assert provider.encode(request, target).warnings == (Warned("system_moved", "messages"),)
    with pytest.raises(RequestRejected):
        provider.encode(replace(request, strict=True), target)


@BOTH
@pytest.mark.parametrize("count", [1, 2])
def test_instructions_at_the_start_are_where_they_were(
    provider: Provider, target: Target, count: int
) -> None:
    request = replace(CHAT, messages=(*[said("system", "Be brief.")] * count, HI), strict=True)

    assert provider.encode(request, target).warnings == ()


@pytest.mark.parametrize("seed", [0, 7])
def test_every_seed_is_one(seed: int) -> None:
    request = replace(CHAT, sampling=Sampling(seed=seed))

    call = Anthropic().encode(request, Target("m", "p", "m"))

    assert call.warnings == (Warned("field_dropped", "seed"),)


@pytest.mark.parametrize(
    ("sampling", "lost"),
    [
        (Sampling(top_k=1, max_output_tokens=9000), ["top_k"]),
        (Sampling(temperature=1, max_output_tokens=9000), []),
    ],
)
def test_what_reasoning_forbids_is_lost_where_it_says_something(
    sampling: Sampling, lost: list[str]
) -> None:
    request = Request("m", (HI,), sampling=sampling, thinking=ThinkingWish("on", 2048))

    call = Anthropic().encode(replace(request, dialect="anthropic"), Target("m", "p", "m"))

    assert body(call).keys().isdisjoint({"top_k", "temperature"})
    assert call.warnings == tuple(Warned("field_dropped", name) for name in lost)


@pytest.mark.parametrize("own", [None, "Mine."])
def test_what_is_said_of_an_answers_form_stands_in_its_schema(own: str | None) -> None:
    schema: Json = {"type": "object", **({} if own is None else {"description": own})}
    form = ResponseFormat("json_schema", schema, "n", description="A form.")

    call = Anthropic().encode(replace(CHAT, response_format=form), Target("m", "p", "m"))

    assert body(call)["output_config"]["format"]["schema"]["description"] == (own or "A form.")
    assert call.warnings == ()
