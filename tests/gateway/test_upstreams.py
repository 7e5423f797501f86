"""What of the way to providers lasts over a reload, and what does not."""

from __future__ import annotations

import anyio
import pytest
from prometheus_client import CollectorRegistry

from gateway.config import Config
from gateway.metering.meters.local import LocalMeter
from gateway.stores.ledger import WindowReading, WindowState
from gateway.upstream import provider, providers
from gateway.upstream.account import Account
from gateway.upstream.ways import ways_of
from gateway.upstreams import UpstreamBuilder, Upstreams, proxy_of
from techniques.core.json import Json

ROW: dict[str, Json] = {
    "dialect": "openai_chat",
    "base_url": "https://a.example/v1",
    "api_key": "sk-1",
}


def builder() -> UpstreamBuilder:
    return UpstreamBuilder(provider.load(providers), LocalMeter(CollectorRegistry(), ()))


def config(upstream: Json = None, limits: Json = None, **row: Json) -> Config:
    return Config.model_validate(
        {
            "providers": {"a": {**ROW, **row}, "b": ROW},
            "models": [{"name": "m", "provider": "a", "limits": limits or {}}],
            "upstream": upstream or {},
        }
    )


def after(before: Config, now: Config) -> tuple[Upstreams, Upstreams]:
    made = builder()
    first = made.build(before)
    return first, made.build(now, first)


def window(name: str, cap: int) -> WindowState:
    return WindowState(name, "bucket", cap, cap, 0, cap / 60, 0, 0, None, 0, provisional=False)


@pytest.mark.parametrize(
    ("changes", "same_account", "same_connections"),
    [
        ({}, True, True),
        ({"limits": {"rpm": 5}}, True, True),
        ({"upstream": {"retries": 0, "breaker": 1}}, True, True),
        ({"api_key": "sk-2"}, True, False),
        ({"headers": {"x-a": "1"}}, True, False),
        ({"upstream": {"connect_s": 1}}, True, False),
        ({"upstream": {"pool": 1}}, True, False),
        ({"upstream": {"proxy": "http://p:3128"}}, True, False),
        ({"proxy": "http://p:3128"}, True, False),
        ({"proxy": "none"}, True, True),
        ({"base_url": "https://elsewhere.example/v1"}, False, False),
        ({"dialect": "anthropic"}, False, False),
        ({"vendor": "groq"}, False, True),
    ],
)
def test_what_nothing_speaks_against_is_taken_over(
    changes: dict[str, Json], *, same_account: bool, same_connections: bool
) -> None:
    first, second = after(config(), config(**changes))

    assert (second.accounts["a"] is first.accounts["a"]) is same_account
    assert (second.transports["a"] is first.transports["a"]) is same_connections
    assert second.accounts["b"] is first.accounts["b"]


@pytest.mark.parametrize(
    ("row", "way"),
    [
        ({}, "http://all:3128"),
        ({"allow_private": True}, None),
        ({"base_url": "https://models.corp.example/v1"}, None),
        ({"proxy": "none"}, None),
        ({"proxy": "http://own:1"}, "http://own:1"),
        ({"proxy": "http://own:1", "allow_private": True}, "http://own:1"),
    ],
)
def test_the_proxy_of_all_leads_to_providers_that_are_not_near(
    row: dict[str, Json], way: str | None
) -> None:
    stated = config(upstream={"proxy": "http://all:3128", "no_proxy": ["corp.example"]}, **row)

    assert proxy_of(stated.providers["a"], ways_of(stated.upstream)) == way


def test_a_provider_that_goes_and_comes_is_another() -> None:
    made, without = builder(), Config.model_validate({"providers": {"b": ROW}})
    first = made.build(config())
    third = made.build(config(), made.build(without, first))

    assert third.accounts["a"] is not first.accounts["a"]
    assert third.accounts["b"] is first.accounts["b"]


async def test_an_account_keeps_what_it_has_learned_and_takes_the_limits_stated_now() -> None:
    first, second = after(config(limits={"rpm": 10}), config(limits={"rpm": 20}))
    account = first.accounts["a"]
    account.learn([WindowReading("m:tokens:60", 500, 1000, kind="bucket", period_ms=60_000)])
    account.health("m").failed(anyio.current_time())

    changed = second.restate(first)

    assert changed == [account]
    assert account.caps() == {"m:requests:60": 20, "m:tokens:60": 1000}
    assert account.health("m").failures == 1
    assert [it.cap for it in account.stated([window("m:requests:60", 10)])] == [20]
    assert account.stated([]) == []  # what is not there is defined when it is asked for


async def test_a_limit_that_is_stated_no_more_comes_back_only_by_an_answer() -> None:
    first, second = after(config(limits={"rpm": 10}), config())
    account: Account = first.accounts["a"]

    second.restate(first)
    account.learn_of([window("m:requests:60", 10)])  # as the ledger still has it

    assert not account.limits("m")
    account.learn([WindowReading("m:requests:60", 7, 9, kind="bucket", period_ms=60_000)])
    assert account.caps() == {"m:requests:60": 9}


async def test_a_provider_that_is_reached_otherwise_is_not_known_to_be_down() -> None:
    first, second = after(config(), config(api_key="sk-2"))
    account = first.accounts["a"]
    account.health("m").failed(anyio.current_time())

    second.restate(first)

    assert account.health("m").failures == 0


async def test_how_often_a_model_may_fail_changes_for_those_that_have_been_asked() -> None:
    first, second = after(config(), config(upstream={"breaker": 2}))
    first.accounts["a"].health("m")

    second.restate(first)

    assert first.accounts["a"].health("m").limit == 2
    assert first.accounts["a"].health("other").limit == 2
