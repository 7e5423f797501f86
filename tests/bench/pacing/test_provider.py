from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import anyio
import orjson
import pytest

from bench.pacing import words
from bench.pacing.account import VENDORS, Account, Terms, Vendor
from bench.pacing.agents import Agent, Target, streamed, whole
from bench.pacing.provider import Provider

LENGTH = 200


class Answer:
    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    async def send(self, event: MutableMapping[str, Any]) -> None:
        self.body += event.get("body", b"")
        if event["type"] == "http.response.start":
            self.status = event["status"]
            self.headers = {name.decode(): value.decode() for name, value in event["headers"]}


async def ask(provider: Provider, path: str, body: object, method: str = "POST") -> Answer:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": orjson.dumps(body)}

    answer = Answer()
    await provider({"type": "http", "path": path, "method": method}, receive, answer.send)
    return answer


def agent(vendor: Vendor, *, streams: bool) -> Agent:
    target = Target("", "model-1", anthropic=vendor == "anthropic")
    return Agent(target, seed=5, context=1000, streams=streams)


def path_of(vendor: Vendor) -> str:
    return f"/a/v1/{'messages' if vendor == 'anthropic' else 'chat/completions'}"


def provider_of(vendor: Vendor, tpm: int = 30_000, speed: float = 1.0) -> Provider:
    terms = Terms(vendor, tpm=tpm)
    return Provider(speed, anyio.current_time, {"a": Account(terms, anyio.current_time() * speed)})


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("vendor", VENDORS)
async def test_an_answer_has_the_length_that_the_last_turn_names(
    vendor: Vendor, *, streams: bool
) -> None:
    provider = provider_of(vendor)
    body = agent(vendor, streams=streams).body(LENGTH)

    answer = await ask(provider, path_of(vendor), body)

    said = (streamed if streams else whole)(answer.body)
    assert answer.status == 200
    assert len(said.split()) == LENGTH
    assert provider.accounts["a"].counted.prompt == 1040
    assert provider.accounts["a"].counted.output == LENGTH


async def test_output_is_charged_when_it_was_written() -> None:
    provider = provider_of("anthropic")

    answer = await ask(
        provider, path_of("anthropic"), agent("anthropic", streams=True).body(LENGTH)
    )

    account = provider.accounts["a"]
    assert answer.headers["anthropic-ratelimit-output-tokens-remaining"] == "8000"
    assert account.windows["output-tokens"].left(provider.now) == 8000 - LENGTH


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "whole"])
async def test_an_answer_takes_as_long_as_a_model_would_write_it(*, streams: bool) -> None:
    provider = provider_of("openai", speed=10.0)
    began = anyio.current_time()

    await ask(provider, path_of("openai"), agent("openai", streams=streams).body(LENGTH))

    assert anyio.current_time() - began == pytest.approx((0.6 + LENGTH / 400) / 10)


async def test_what_does_not_fit_gets_a_429_and_fits_after_the_wait_that_it_names() -> None:
    provider = provider_of("groq", tpm=2000)
    body = agent("groq", streams=False).body(LENGTH)
    await ask(provider, path_of("groq"), body)

    refused = await ask(provider, path_of("groq"), body)
    await anyio.sleep(float(refused.headers["retry-after"]))
    again = await ask(provider, path_of("groq"), body)

    assert (refused.status, again.status) == (429, 200)


async def test_the_usage_of_a_stream_comes_only_where_it_was_asked_for() -> None:
    provider = provider_of("openai")
    body = agent("openai", streams=True).body(LENGTH)
    asked = await ask(provider, path_of("openai"), body)
    del body["stream_options"]
    unasked = await ask(provider, path_of("openai"), body)

    assert b'"completion_tokens":200' in asked.body
    assert b"usage" not in unasked.body


async def test_accounts_are_made_and_counted_over_the_socket_and_made_anew() -> None:
    provider = Provider(1.0, anyio.current_time)
    made = {"a": {"vendor": "openai"}}
    await ask(provider, "/control/accounts", made)
    await ask(provider, path_of("openai"), agent("openai", streams=False).body(10))

    counted = orjson.loads((await ask(provider, "/control/accounts", {}, "GET")).body)
    anew = orjson.loads((await ask(provider, "/control/accounts", made)).body)

    assert (counted["a"]["granted"], anew["a"]["granted"]) == (1, 0)


async def test_a_call_that_is_no_agents_step_is_counted_as_such() -> None:
    provider = provider_of("openai")
    ping = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "ping"}]}
    await ask(provider, path_of("openai"), ping)
    await ask(provider, "/a/v1/models", {}, "GET")

    assert provider.accounts["a"].counted.unasked == 2


def test_texts_have_as_many_words_as_were_wanted_and_are_the_same_again() -> None:
    turn = words.step(40, 3, 77)

    assert len(turn.split()) == 40
    assert words.marked(turn) == 77
    assert words.marked(words.text(40, 3)) is None
    assert words.text(1000, 9) == words.text(1000, 9)
    assert 3.5 < len(words.text(1000, 9)) / 1000 < 4.5
