from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import orjson
import pytest

from gateway.config import Config, Secrets
from gateway.metering.caps import Caps
from gateway.policy.keys import digest
from gateway.policy.models import Model
from gateway.wiring import Parts, running
from pricing.price import Price
from techniques.core.errors import Unauthenticated
from techniques.core.json import Json
from techniques.core.request import ThinkingWish

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

PROVIDERS = {
    "sim": {"dialect": "openai_chat", "simulated": {}},
    "oa": {"dialect": "openai_chat", "base_url": "https://a.example/v1", "api_key": "sk-1"},
    "an": {"dialect": "anthropic", "base_url": "https://b.example", "api_key": "sk-2"},
}


async def wired(**sections: Json) -> Parts:
    """Return the parts that *sections* make, closed again."""
    sections.setdefault("database", {"url": "none"})
    config = Config.model_validate({"providers": PROVIDERS, **sections})
    async with running(config, Secrets("s", "admin")) as parts:
        return parts


async def model(**row: Json) -> Model:
    parts = await wired(models=[{"name": "m", "provider": "oa", **row}])
    return parts.catalogue.find("m")


async def test_a_model_is_what_its_row_says() -> None:
    made = await model(
        model="gpt-x",
        price={"input": "0.15", "output": "0.6", "per_request": "0.01"},
        think_tags="split",
        hedge_after_s="2s",
        capabilities={"tools": False, "context": 1000},
    )

    assert (made.name, made.target.model, made.target.provider) == ("m", "gpt-x", "oa")
    assert made.price == Price(150_000, 600_000, per_request=10**10, name="operator:m")
    assert made.target.split_thinking
    assert made.hedge_after_s == 2
    assert (made.target.capabilities.tools, made.target.capabilities.context) == (False, 1000)
    assert not made.simulated


async def test_what_was_measured_of_the_models_is_there_for_techniques(tmp_path: Path) -> None:
    file = tmp_path / "calibration.json"
    graded = {"right": 9, "of": 10, "accuracy": 0.875}
    file.write_bytes(orjson.dumps({"models": {"m": {"accuracy": {"number": graded}}}}))
    rows = [{"name": "m", "provider": "oa"}]

    with_file = await wired(models=rows, reliability={"calibration": str(file)})
    without = await wired(models=rows)

    assert with_file.front.pipeline.calibration.accuracy("m", "number") == 0.875
    assert without.front.pipeline.calibration.accuracy("m", "number") is None


async def test_a_model_without_a_name_upstream_or_a_price_has_its_own_and_none() -> None:
    made = await model()

    assert (made.target.model, made.price, made.fallbacks) == ("m", None, ())
    assert not made.target.split_thinking


async def test_a_reasoning_model_is_short_for_what_such_models_take() -> None:
    can = (await model(capabilities={"reasoning": True})).target.capabilities

    assert (can.temperature, can.max_completion_tokens) == (False, True)


@pytest.mark.parametrize(
    ("row", "tells"),
    [
        ({}, True),
        ({"provider": "an"}, False),
        ({"capabilities": {"reasoning": True}}, False),
        ({"capabilities": {"reasoning": True, "logprobs": True}}, True),
        ({"capabilities": {"logprobs": False}}, False),
    ],
)
async def test_a_model_of_a_kind_that_reports_no_log_probabilities_has_none_unless_stated(
    row: dict[str, Json], *, tells: bool
) -> None:
    made = await model(**row)

    assert made.target.capabilities.logprobs is tells


@pytest.mark.parametrize(
    ("stated", "wish"),
    [
        (None, None),
        ("auto", None),
        (False, ThinkingWish("off")),
        (True, ThinkingWish("on")),
        ("high", ThinkingWish("on", None, "high")),
        ({"budget_tokens": 2048}, ThinkingWish("on", 2048)),
        ({"enabled": False}, ThinkingWish("off")),
        ({"effort": "low"}, ThinkingWish("on", None, "low")),
    ],
)
async def test_how_much_a_model_thinks_may_be_said_in_several_ways(
    stated: Json, wish: ThinkingWish | None
) -> None:
    assert (await model(thinking=stated)).target.thinking == wish


async def test_what_a_name_that_ends_in_a_star_stands_for_is_known_when_it_is_asked_for() -> None:
    parts = await wired(models=[{"name": "gpt-*", "provider": "oa"}])

    assert parts.catalogue.find("gpt-5.2").target.thinks.off == "none"
    assert parts.catalogue.find("gpt-5.2").target.thinking == ThinkingWish("off")
    assert not parts.catalogue.find("gpt-4o").target.thinks.able


async def test_a_key_is_what_its_row_says() -> None:
    row = {
        "name": "team",
        "hash": digest("s", "key"),
        "models": ["a"],
        "techniques": ["self_refine"],
        "caps": {"max_calls": 5, "max_cost_usd": "0.5", "deadline_ms": 100},
        "budget": {"usd": 1},
        "priority": 2,
    }
    parts = await wired(models=[{"name": "a", "provider": "oa"}], keys=[row])

    caller = await parts.front.door.caller({"x-api-key": "key"})
    assert (caller.name, caller.models, caller.techniques) == (
        "team",
        frozenset({"a"}),
        frozenset({"self_refine"}),
    )
    assert caller.caps == Caps(5, 5 * 10**11)
    assert (caller.deadline_ms, caller.budgeted, caller.priority) == (100, True, 2)
    with pytest.raises(Unauthenticated):
        await parts.front.door.caller({})


async def test_defaults_are_those_of_the_configuration() -> None:
    parts = await wired(
        models=[{"name": "m", "provider": "sim"}],
        reliability={
            "default": "self_refine",
            "judge": "m",
            "on_error": "raise",
            "techniques": {"self_refine": {"max_rounds": 2}},
            "caps": {"max_cost_usd": Decimal("0.25"), "deadline_ms": 500},
        },
        upstream={"retries": 1, "backoff_s": "10ms", "max_wait_s": 3},
        server={"max_body": "1KiB", "keepalive_s": 4},
    )

    defaults = parts.front.pipeline.planner.defaults
    assert (defaults.technique, defaults.judge, defaults.rescue) == ("self_refine", "m", False)
    assert defaults.options == {"self_refine": {"max_rounds": 2}}
    assert (defaults.caps, defaults.deadline_ms) == (Caps(None, 25 * 10**10), 500)
    retry = parts.front.pipeline.retry
    assert (retry.retries, retry.backoff_s, retry.max_wait_s) == (1, 0.01, 3)
    assert (parts.front.max_body, parts.front.keepalive_s) == (1024, 4)
    assert (parts.admin_token, parts.metrics_token) == ("admin", None)


@pytest.mark.parametrize("kind", ["fixed", "semknn", "acm_table", "acm_linear"])
async def test_each_router_that_may_be_configured_starts(kind: str) -> None:
    parts = await wired(router={"type": kind})

    assert parts.front.pipeline.routing is not None
    assert parts.front.pipeline.routing.kind == kind


async def test_what_models_wrote_runs_only_where_the_configuration_says_so() -> None:
    off = await wired()
    on = await wired(reliability={"sandbox": {"kind": "process", "trusted": True}})

    assert off.front.pipeline.sandbox is None
    assert on.front.pipeline.sandbox is not None
    assert (await on.front.pipeline.sandbox.run("print(6 * 7)")).out == "42\n"


async def test_a_sandbox_that_cannot_run_anything_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    parts = await wired(reliability={"sandbox": "docker"})

    assert parts.front.pipeline.sandbox is None
    assert "sandbox.unavailable" in capsys.readouterr().out


async def test_a_name_that_one_stands_for_has_the_listed_price_at_its_makers_address() -> None:
    parts = await wired(
        providers={"oa": {"dialect": "openai_chat", "base_url": "https://api.openai.com/v1"}},
        models=[{"name": "gpt-*", "provider": "oa"}],
    )

    found = parts.catalogue.find("gpt-4o-mini-2024-07-18")

    assert found.price is not None
    assert found.price.name.endswith(":openai/gpt-4o-mini")
    assert parts.catalogue.find("gpt-made-up").price is None
