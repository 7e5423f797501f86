"""What a technique sets of its own accord is lost at no provider, and so refused by none."""

from __future__ import annotations

import orjson
import pytest

from gateway.config import ModelConfig, ProviderConfig
from gateway.policy.targets import target_of
from gateway.upstream import providers
from gateway.upstream.provider import HttpCall, load
from techniques.core.channel import Member
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.request import Request, Sampling, said
from techniques.parts.sampling import Spread
from tests.techniques.scene import scripted

PROVIDERS = load(providers)
SPREAD = Spread("self_consistency", 7, 0.7)
SEEDS = {"anthropic": False, "openai_chat": True, "openai_responses": False}


def draw(dialect: str, place: int, seed: int | None = None, can: Json = None) -> HttpCall:
    """Return the call that draw *place* of a strict request is at a model of *dialect*."""
    row = ModelConfig.model_validate({"name": "m", "provider": "p", "capabilities": can or {}})
    account = ProviderConfig.model_validate({"dialect": dialect, "base_url": "https://x.example"})
    target = target_of(row, account, "m")
    sampling = Sampling(seed=seed, max_output_tokens=99)
    asked = Request("m", (said("user", "hi"),), sampling=sampling, strict=True)
    member = Member("m", "m", scripted(lambda _: "yes"), target.capabilities)
    return PROVIDERS[dialect].encode(SPREAD.draw(asked, member, place), target)


def test_every_dialect_is_known_to_have_a_seed_or_none() -> None:
    assert set(SEEDS) == set(PROVIDERS)


@pytest.mark.parametrize("dialect", SEEDS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_draws_of_a_strict_request_are_put_to_a_provider_of_any_dialect(
    dialect: str, place: int
) -> None:
    call = draw(dialect, place)

    assert call.warnings == ()
    assert ("seed" in orjson.loads(call.body)) == (place > 0 and SEEDS[dialect])


def test_a_model_that_is_said_to_take_no_seed_is_given_none() -> None:
    assert "seed" not in orjson.loads(draw("openai_chat", 1, can={"seed": False}).body)


@pytest.mark.parametrize("dialect", [name for name, takes in SEEDS.items() if not takes])
@pytest.mark.parametrize("place", [0, 1])
def test_a_seed_of_the_clients_own_is_still_refused_where_it_would_be_lost(
    dialect: str, place: int
) -> None:
    with pytest.raises(RequestRejected, match="seed"):
        draw(dialect, place, seed=3)
