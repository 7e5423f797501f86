"""A model is asked only for what it serves, as far as that is known."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from gateway.planning.plan import Defaults
from gateway.policy.keys import OPEN
from gateway.policy.models import Model
from gateway.policy.wishes import NOTHING, Wishes
from gateway.upstream.provider import Provider
from gateway.wire.dialect import Call
from techniques.core.capabilities import Capabilities
from techniques.core.errors import RequestRejected
from techniques.core.relayed import EMBEDDINGS
from techniques.core.request import Relay, Request
from tests.gateway.planning.scene import call, model, planner


class Named:
    """A provider of which nothing but its dialect counts."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect


def of(
    name: str, *fallbacks: str, embeds: bool | None = None, dialect: str = "openai_chat"
) -> Model:
    made = model(name, *fallbacks)
    target = replace(made.target, capabilities=Capabilities(embeddings=embeds))
    provider = cast("Provider", Named(dialect))
    return replace(made, channel=replace(made.channel, target=target, provider=provider))


MODELS = (
    of("embed", "chat", "other", "unknown", embeds=True),
    of("other", embeds=True),
    of("chat", embeds=False),
    of("unknown"),
    of("claude", dialect="anthropic"),
)
PLANNER = planner(models=MODELS)


def embed(name: str) -> Call:
    relay = Relay(EMBEDDINGS, b"", {}, lambda: Request("m"))
    return Call(EMBEDDINGS, name, streamed=False, relay=relay)


def refusal(asked: Call, wishes: Wishes = NOTHING) -> RequestRejected:
    with pytest.raises(RequestRejected) as raised:
        PLANNER.plan(asked, OPEN, wishes)
    return raised.value


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (embed("chat"), "ask it at /v1/chat/completions"),
        (call("embed"), "ask it at /v1/embeddings"),
        (embed("claude"), "has no embeddings"),
    ],
)
def test_what_a_model_is_known_not_to_serve_is_refused(asked: Call, told: str) -> None:
    error = refusal(asked)

    assert (error.code, error.param) == ("unsupported_endpoint", "model")
    assert told in error.message


def test_a_model_of_which_nothing_is_known_may_be_asked_for_both() -> None:
    assert PLANNER.plan(embed("unknown"), OPEN, NOTHING).model.name == "unknown"
    assert PLANNER.plan(call("unknown"), OPEN, NOTHING).model.name == "unknown"


def test_a_plan_for_one_kind_is_not_kept_for_another() -> None:
    assert PLANNER.plan(call("chat"), OPEN, NOTHING).model.name == "chat"
    assert refusal(embed("chat")).code == "unsupported_endpoint"
    assert PLANNER.plan(embed("embed"), OPEN, NOTHING).model.name == "embed"
    assert refusal(call("embed")).code == "unsupported_endpoint"


def test_a_configured_fallback_that_does_not_serve_it_is_passed_over() -> None:
    plan = PLANNER.plan(embed("embed"), OPEN, NOTHING)

    assert [one.name for one in plan.models] == ["embed", "other", "unknown"]


def test_one_that_was_wished_for_is_refused_by_its_wish() -> None:
    wishes = Wishes(fallbacks=("other", "chat"))

    assert refusal(embed("embed"), wishes).param == "x-lockgate-fallbacks"


@pytest.mark.parametrize("name", ["auto", "self_consistency", "no-such"])
def test_a_technique_is_refused_by_name(name: str) -> None:
    error = refusal(embed("embed"), Wishes(technique=name))

    assert (error.code, error.param) == ("technique_unsupported", "x-lockgate-technique")
    assert name in error.message


@pytest.mark.parametrize("slug", ["auto/embed", "self_consistency/embed"])
def test_a_technique_in_the_models_name_is_refused(slug: str) -> None:
    assert (refusal(embed(slug)).code, refusal(embed(slug)).param) == (
        "technique_unsupported",
        "model",
    )


@pytest.mark.parametrize("wishes", [NOTHING, Wishes(technique="none")])
def test_no_technique_may_be_asked_for(wishes: Wishes) -> None:
    assert PLANNER.plan(embed("none/embed"), OPEN, wishes).technique == "none"


def test_the_technique_for_calls_that_wish_for_none_is_not_for_embeddings() -> None:
    for name in ("auto", "self_consistency"):
        made = planner(Defaults(technique=name), MODELS)
        plan = made.plan(embed("embed"), OPEN, NOTHING)

        assert (plan.technique, plan.auto) == ("none", False)
