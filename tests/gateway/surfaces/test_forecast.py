"""Forecasts and windows, as clients ask for them, over the simulation."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from gateway.policy.keys import digest
from techniques.core.json import Json
from tests.gateway.surfaces.test_operations import (
    KEYS,
    OPEN,
    PROVIDERS,
    Running,
    chat,
    serving,
)
from tests.services.valkey import Valkey

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

ASKED: dict[str, Json] = {"model": "small", "steps": 3, "tokens_per_step": 400}
HELD: list[Json] = [
    {
        "name": "small",
        "provider": "sim",
        "model": "sim-small",
        "price": {"input": 1, "output": 2},
        "limits": {"tpm": 6000},
    },
    {"name": "large", "provider": "sim", "model": "sim-large", "price": {"input": 3, "output": 9}},
]
MINE = {"x-api-key": "key"}


async def forecast(gateway: Running, body: Json = None, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await gateway.ask("/v1/forecast", named, {**ASKED, **(body or {})})


async def test_a_run_is_forecast_by_what_calls_before_it_came_to() -> None:
    async with serving(models=HELD) as gateway:
        for _ in range(6):
            await gateway.ask("/v1/chat/completions", body=chat())
        answer = await forecast(gateway, {"deadline_ms": 3_600_000})

    told = answer.json
    assert answer.status == 200
    assert answer.headers["x-lockgate-request-id"] == answer.headers["x-request-id"]
    assert (told["object"], told["method"], told["walks"]) == ("forecast", "monte_carlo", 200)
    assert told["ground"] == {"answers": "few", "samples": 6}
    assert told["p50"]["tokens"] <= told["p90"]["tokens"]
    assert 1200 <= told["p50"]["tokens"] <= 2000
    assert 0.001 < float(told["p50"]["usd"]) < 0.003
    assert (told["chance"], told["completes"], told["notes"]) == (1, 1, [])
    assert told["text"].startswith("3 steps of small: ")


async def test_a_technique_is_forecast_by_its_card_and_then_by_what_it_did() -> None:
    async with serving(models=HELD) as gateway:
        slug = {"model": "self_consistency/large"}
        unseen = (await forecast(gateway, slug)).json
        for _ in range(3):
            await gateway.ask("/v1/chat/completions", body=chat("self_consistency/large"))
        await gateway.ask("/metrics")  # which has the facts read
        seen = (await forecast(gateway, {"model": "large", "technique": "self_consistency"})).json

    assert unseen["technique"] == seen["technique"] == "self_consistency"
    assert any("No request with self_consistency" in note for note in unseen["notes"])
    assert not any("No request" in note for note in seen["notes"])
    assert unseen["p50"]["input_tokens"] > 3 * 4 * 200  # it draws four, usually
    assert seen["p50"]["input_tokens"] > 3 * 2 * 200


@pytest.mark.parametrize(
    ("body", "window", "expected"),
    [
        (
            {"steps": 5, "tokens_per_step": 600, "price_per_1k": 0.5},
            {"remaining": 10_000, "limit": 10_000, "reset_s": 60},
            {"tokens": 3000, "waits": 0, "suspensions": 0, "usd": "1.5", "fits_deadline": None},
        ),
        (
            {"steps": 3, "tokens_per_step": 400, "wait_threshold_s": 60, "seconds_per_step": 0},
            {"remaining": 1000, "limit": 1000, "reset_s": 60},
            {"waits": 1, "waiting_s": 17.25, "wall_s": 17.25},
        ),
        (
            {"steps": 5, "tokens_per_step": 400},
            {"remaining": 1000, "limit": 1000, "reset_s": 30, "regime": "fixed"},
            {"waits": 0, "suspensions": 2, "waiting_s": 60},
        ),
        (
            {"steps": 5, "tokens_per_step": 980},
            {"remaining": 1000, "limit": 1000, "reset_s": 60},
            {"steps_done": 1, "context_wall": True, "tokens": 980},
        ),
        (
            {"steps": 4, "tokens_per_step": 100, "seconds_per_step": 2, "deadline_ms": 10_000},
            {"remaining": 1000, "limit": 1000, "reset_s": 60},
            {"wall_s": 8, "fits_deadline": True, "chance": 1},
        ),
        (
            {"steps": 4, "tokens_per_step": 100, "seconds_per_step": 2, "deadline_ms": 7000},
            {"remaining": 1000, "limit": 1000, "reset_s": 60},
            {"wall_s": 8, "fits_deadline": False, "chance": 0},
        ),
    ],
)
async def test_point_says_what_agentpause_says(body: Json, window: Json, expected: Json) -> None:
    async with serving(models=HELD) as gateway:
        asked = {**body, "method": "point", "window": window}
        told = (await forecast(gateway, asked)).json
        again = (await forecast(gateway, asked)).json

    assert {name: told[name] for name in expected} == expected
    assert again == told
    assert told["text"].startswith(f"{body['steps']} steps of small: {told['tokens']:,} tokens, ")


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        ({"steps": 0}, "steps", "must be greater than or equal to 1"),
        ({"steps": 501}, "steps", "must be less than or equal to 500"),
        ({"steps": "3"}, "steps", "must be a valid integer"),
        ({"steps": True}, "steps", "must be a valid integer"),
        ({"stepz": 3}, "stepz", "there is no such field"),
        ({"method": "guess"}, "method", "must be 'monte_carlo' or 'point'"),
        ({"messages": []}, "messages", "at least 1 item"),
        ({"messages": ["hi"]}, "messages.0", "dictionary"),
        ({"tokens_per_step": None}, "tokens_per_step", "is missing"),
        ({"deadline_ms": -1}, "deadline_ms", "must be greater"),
        ({"seconds_per_step": 2}, "seconds_per_step", 'for {"method": "point"} only'),
        ({"steps": 400, "concurrency": 4}, "steps", "1600 calls"),
    ],
)
async def test_what_is_wrong_is_named(body: Json, param: str, words: str) -> None:
    async with serving() as gateway:
        answer = await forecast(gateway, body)

    assert answer.status == 400
    error = answer.json["error"]
    assert (error["param"], error["code"]) == (param, "invalid_value")
    assert words in error["message"]


async def test_a_body_that_is_none_is_refused_and_so_are_other_methods() -> None:
    async with serving() as gateway:
        listed = await gateway.ask("/v1/forecast", body=[1])
        got = await gateway.ask("/v1/forecast")
        posted = await gateway.ask("/v1/windows", body={})
        unknown = await forecast(gateway, {"model": "nope"})

    assert (listed.status, got.status, posted.status, unknown.status) == (400, 405, 405, 404)
    assert unknown.json["error"]["param"] == "model"


async def test_a_client_of_anthropics_is_refused_in_its_own_words() -> None:
    async with serving() as gateway:
        answer = await forecast(gateway, {"steps": 0}, anthropic_version="2023-06-01")

    assert answer.json["type"] == "error"
    assert answer.json["error"]["type"] == "invalid_request_error"
    assert "request-id" in answer.headers


async def test_a_forecast_wants_a_key_and_stays_within_what_it_may_use() -> None:
    async with serving(keys=KEYS) as gateway:
        stranger = await forecast(gateway)
        denied = await forecast(gateway, {"model": "large"}, x_api_key="key")
        served = await forecast(gateway, x_api_key="key")

    assert (stranger.status, denied.status, served.status) == (401, 403, 200)


async def test_a_gateway_that_stops_makes_no_forecast() -> None:
    async with serving() as gateway:
        assert gateway.app.gate is not None
        gateway.app.gate.closing = True
        answer = await forecast(gateway)

    assert answer.status == 503


async def test_without_pacing_the_limits_are_left_out_and_that_is_said() -> None:
    async with serving(models=HELD, pacing={"mode": "off"}) as gateway:
        told = (await forecast(gateway, {"tokens_per_step": 5000, "steps": 9})).json
        windows = (await gateway.ask("/v1/windows")).json

    assert told["p50"]["waiting_s"] == 0
    assert "Pacing is off here" in told["notes"][0]
    assert windows == {"pools": []}


@pytest.mark.parametrize("named", ["field", "header"])
async def test_a_run_that_was_forecast_is_judged_when_it_has_ended(named: str) -> None:
    async with serving(models=HELD) as gateway:
        body = {"steps": 2, **({"run": "job-1"} if named == "field" else {})}
        header = {"x_lockgate_run": "job-1"} if named == "header" else {}
        assert (await forecast(gateway, body, **header)).status == 200
        for _ in range(2):
            await gateway.ask("/v1/chat/completions", {"x-lockgate-session": "job-1"}, body=chat())
        metrics = (await gateway.ask("/metrics")).body.decode()

    counted = [line for line in metrics.splitlines() if "pinball_loss_count" in line]
    assert len(counted) == 6  # tokens, dollars and seconds, of two quantiles
    assert all(line.endswith(" 1.0") for line in counted)
    assert 'lockgate_forecasts_total{method="monte_carlo"} 1.0' in metrics


async def test_the_windows_of_accounts_are_told_as_they_stand() -> None:
    async with serving(models=HELD) as gateway:
        await gateway.ask("/v1/chat/completions", body=chat())
        answer = await gateway.ask("/v1/windows")

    (pool,) = answer.json["pools"]
    (window,) = pool["windows"]
    assert (pool["pool"], pool["account"], pool["queued"]) == ("up:sim", "sim", 0)
    assert (window["window"], window["of"]) == ("sim-small:tokens:60", "sim-small")
    assert (window["dimension"], window["period_s"], window["kind"]) == ("tokens", 60, "bucket")
    assert (window["cap"], window["refill_per_s"], window["margin"]) == (6000, 100, 60)
    assert 0 < window["level"] < 6000
    assert (window["drain_per_s"], window["blocked_ms"], window["held"]) == (0, 0, 0)


BUDGETED: list[Json] = [
    {
        "name": name,
        "hash": digest("s", secret),
        "team": "lab",
        "rpm": 60,
        "budget": {"usd": 5, "period": "day"},
    }
    for name, secret in (("k", "key"), ("other", "another"))
]


async def test_a_key_sees_its_own_windows_and_its_teams_and_the_administrator_all() -> None:
    teams: list[Json] = [{"name": "lab", "budget": {"usd": 9, "period": "month"}}]
    async with serving(models=HELD, keys=BUDGETED, teams=teams) as gateway:
        for secret in ("key", "another"):
            await gateway.ask("/v1/chat/completions", {"x-api-key": secret}, chat())
        mine = (await gateway.ask("/v1/windows", MINE)).json["pools"]
        everything = (await gateway.ask("/v1/windows", OPEN)).json["pools"]
        stranger = await gateway.ask("/v1/windows", {"x-api-key": "guess"})

    (pool,) = mine
    assert pool["pool"] == "team:lab"
    assert {window["of"] for window in pool["windows"]} == {"k", "*"}
    money = next(it for it in pool["windows"] if it["of"] == "*")
    assert (money["cap_usd"], money["held_usd"]) == ("9", "0")
    assert float(money["left_usd"]) < 9
    assert [it["pool"] for it in everything] == ["up:sim", "team:lab"]
    assert {window["of"] for window in everything[1]["windows"]} == {"k", "other", "*"}
    assert stranger.status == 401


async def test_a_budget_that_does_not_last_is_forecast() -> None:
    keys = [{"name": "k", "hash": digest("s", "key"), "budget": {"usd": "0.001", "period": "day"}}]
    async with serving(models=HELD, keys=keys) as gateway:
        told = (await forecast(gateway, {"steps": 9, "max_tokens": 50}, x_api_key="key")).json

    assert told["budget_ends_at_step"] in (2, 3)
    assert told["completes"] == 0


async def test_replicas_that_share_a_store_forecast_and_show_the_same_windows(
    valkey: Valkey,
) -> None:
    store = {"redis": valkey.url, "prefix": uuid4().hex}
    async with (
        serving(models=HELD, store=store) as one,
        serving(models=HELD, store=store) as other,
    ):
        unseen = (await other.ask("/v1/windows")).json["pools"]
        await one.ask("/v1/chat/completions", body=chat())
        windows = [(await it.ask("/v1/windows")).json["pools"][0]["windows"] for it in (one, other)]
        told = (await forecast(other, {"tokens_per_step": 3000, "grows": False})).json

    (mine,), (theirs,) = windows
    assert unseen[0]["windows"] == []
    assert theirs["level"] == pytest.approx(mine["level"], abs=500)
    assert {**theirs, "level": 0} == {**mine, "level": 0}
    assert told["p50"]["waiting_s"] > 30  # of 9,000 tokens, some 4,000 are there


async def test_of_two_accounts_of_a_model_both_are_forecast() -> None:
    limited = {**PROVIDERS["sim"], "limits": {"tpm": 6000}}
    one: Json = {"name": "m", "provider": "a", "model": "sim-small"}
    providers: Json = {"a": limited, "b": limited}
    big = {"model": "m", "tokens_per_step": 3000, "grows": False, "max_tokens": 50, "steps": 6}
    told = {}
    for accounts in ([], ["b"]):
        async with serving(models=[{**one, "accounts": accounts}], providers=providers) as gateway:
            told[len(accounts)] = (await forecast(gateway, big)).json["p50"]["waiting_s"]

    assert told[1] < 0.6 * told[0]
