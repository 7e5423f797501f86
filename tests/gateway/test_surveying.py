"""What providers have is listed where names end in ``*``, and nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import anyio
import orjson
import pytest

from gateway.config import Config
from gateway.policy.accounts import account_of
from gateway.policy.keys import digest
from gateway.policy.models import Catalogue, Model
from gateway.surveying import Survey, surveyed
from gateway.upstream.provider import HttpCall
from gateway.upstreams import Upstreams
from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json
from tests.gateway.planning.scene import model
from tests.gateway.surfaces.test_operations import Running, serving

HOST: dict[str, Json] = {"dialect": "openai_chat", "base_url": "http://x.example/v1"}


def listing(*names: str) -> bytes:
    return orjson.dumps({"object": "list", "data": [{"id": name} for name in names]})


@dataclass
class Answer:
    """A response that is there whole."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    async def read(self) -> bytes:
        body, self.body = self.body, b""
        return body

    def close(self) -> None:
        pass


@dataclass
class Host:
    """A provider that answers with what it is given; None: it is not reached."""

    status: int | None = 200
    body: bytes = b""
    asked: list[tuple[str, float]] = field(default_factory=list)

    async def post(self, call: HttpCall, until: float) -> Answer:
        del until
        assert call.method == "GET"
        self.asked.append((call.path, anyio.current_time()))
        if self.status is None:
            await anyio.sleep(10)
            raise UpstreamFailed("gone", "timeout", retryable=True)
        return Answer(self.status, self.body)


def upstreams(host: Host, *models: Json, **sections: Json) -> Upstreams:
    rows = list(models) or [{"name": "openai/*", "provider": "p", "model": "*"}]
    stated = {"providers": {"p": HOST}, "models": rows, **sections}
    config = Config.model_validate(stated)
    transports: Any = dict.fromkeys(config.providers, host)
    accounts = {
        name: account_of(name, row, (), breaker=5) for name, row in config.providers.items()
    }
    return Upstreams(config, {}, transports, accounts, {})


async def survey(there: Upstreams, seconds: float) -> tuple[str, ...]:
    with anyio.move_on_after(seconds):
        await Survey(lambda: there).serve()
    return there.accounts["p"].offered


async def test_it_is_asked_at_the_start_and_then_once_an_hour() -> None:
    host = Host(body=listing("gpt-5", "gpt-4o"))

    assert await survey(upstreams(host), 7300) == ("gpt-5", "gpt-4o")
    assert [path for path, _ in host.asked] == ["/models"] * 3


async def test_one_that_does_not_tell_is_asked_less_and_less_often() -> None:
    host = Host(404)

    assert await survey(upstreams(host), 4000) == ()
    times = [at for _, at in host.asked]
    assert [round(b - a, -1) for a, b in pairwise(times)] == [
        60,
        120,
        240,
        480,
        960,
        1920,
    ]


async def test_what_it_told_is_listed_for_a_day_after_it_told_it_last() -> None:
    host = Host(body=listing("gpt-5"))
    there = upstreams(host)
    asks = Survey(lambda: there)
    with anyio.move_on_after(60):
        await asks.serve()
    host.status = None
    with anyio.move_on_after(86_000):
        await asks.serve()
    before = there.accounts["p"].offered
    with anyio.move_on_after(8_000):
        await asks.serve()
    assert (before, there.accounts["p"].offered) == (("gpt-5",), ())


async def test_another_account_under_the_name_is_asked_anew_and_at_once() -> None:
    host = Host(body=listing("gpt-5"))
    now = [upstreams(host)]
    asks = Survey(lambda: now[0])
    await asks.look()
    now[0] = upstreams(host)
    await asks.look()
    await asks.look()

    assert len(host.asked) == 2
    assert now[0].accounts["p"].offered == ("gpt-5",)


async def test_a_bug_is_logged_and_ends_neither_the_survey_nor_the_process(
    capfd: pytest.CaptureFixture[str],
) -> None:
    class Broken(Host):
        async def post(self, call: HttpCall, until: float) -> Answer:
            if not self.asked:
                self.asked.append((call.path, anyio.current_time()))
                raise RuntimeError("a bug")
            return await super().post(call, until)

    host = Broken(body=listing("gpt-5"))

    assert await survey(upstreams(host), 70) == ("gpt-5",)
    assert len(host.asked) == 2
    assert "survey.failed" in "".join(capfd.readouterr())


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"data": 3}', b'{"data": ["gpt"]}'])
async def test_what_is_no_list_lists_nothing(body: bytes) -> None:
    assert await survey(upstreams(Host(body=body)), 1) == ()


async def test_no_more_than_a_thousand_are_taken() -> None:
    host = Host(body=listing(*(f"m{number}" for number in range(1500))))

    assert len(await survey(upstreams(host), 1)) == 1000


@pytest.mark.parametrize(
    ("models", "sections", "names"),
    [
        ([{"name": "openai/*", "provider": "p", "model": "*"}], {}, ["p"]),
        ([{"name": "gpt-*", "provider": "p"}], {}, ["p"]),
        ([{"name": "gpt-4", "provider": "p"}], {}, []),
        ([{"name": "cheap-*", "provider": "p", "model": "gpt-4o-mini"}], {}, []),
        ([{"name": "gpt-*", "provider": "p"}], {"upstream": {"list_s": 0}}, []),
        ([{"name": "*", "provider": "p"}], {"providers": {"p": {**HOST, "api_key": ""}}}, []),
        (
            [{"name": "*", "provider": "p"}],
            {"providers": {"p": {"dialect": "openai_chat", "simulated": {}}}},
            [],
        ),
    ],
)
def test_only_those_are_asked_of_whom_something_can_be_listed(
    models: list[Json], sections: dict[str, Json], names: list[str]
) -> None:
    assert list(surveyed(upstreams(Host(), *models, **sections).config)) == names


def offering(general: Model, *names: str) -> Model:
    general.account.offered = names
    return general


def own(name: str, served_as: str | None = None) -> Model:
    made = model(name, served_as=served_as)
    return replace(made, account=account_of("p", Config.model_validate(
        {"providers": {"p": HOST}}
    ).providers["p"], (), breaker=5))  # fmt: skip


def test_what_is_offered_is_listed_under_the_names_that_clients_say() -> None:
    everything = offering(own("openai/*", "*"), "gpt-5", "ft:a/b", "a b", "../x", "gpt-5")
    some = offering(own("gpt-*"), "gpt-5", "whisper-1", "gpt-5-mini")
    longer = offering(own("gpt-5-*", "gpt-6"), "gpt-6")
    named = model("gpt-5", served_as="own")
    listed = Catalogue([everything, some, longer, named]).listed()

    assert set(listed) == {"gpt-5", "openai/gpt-5", "openai/ft:a/b"}
    assert listed["gpt-5"].target.model == "own"
    assert listed["openai/gpt-5"].target.model == "gpt-5"


def test_what_is_told_later_is_listed_later() -> None:
    general = own("openai/*", "*")
    catalogue = Catalogue([general])
    assert catalogue.listed() == {}
    offering(general, "gpt-5")
    first = catalogue.listed()
    assert list(first) == ["openai/gpt-5"]
    assert catalogue.listed() is first
    offering(general)
    assert catalogue.listed() == {}


@asynccontextmanager
async def provider(body: bytes) -> AsyncGenerator[int, None]:
    """Serve *body* to whoever asks, at the port that is given."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def listed(gateway: Running, key: str, path: str = "/v1/models", **more: str) -> Json:
    return (await gateway.ask(path, {"x-api-key": key, **more})).json


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_clients_of_every_api_find_it_as_far_as_their_key_may_use_it() -> None:
    keys = [
        {"name": "all", "hash": digest("s", "all")},
        {"name": "some", "hash": digest("s", "some"), "models": ["openai/gpt-5*"]},
    ]
    async with provider(listing("gpt-5", "gpt-5-mini", "o9")) as port:
        row = {**HOST, "base_url": f"http://127.0.0.1:{port}/v1", "allow_private": True}
        models = [{"name": "openai/*", "provider": "p", "model": "*"}]
        async with serving(providers={"p": row}, models=models, keys=keys) as gateway:
            with anyio.fail_after(10):
                while not (everything := (await listed(gateway, "all"))["data"]):  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            some = (await listed(gateway, "some"))["data"]
            page = await listed(gateway, "some", **{"anthropic-version": "2023-06-01"})
            tags = (await listed(gateway, "some", "/api/tags"))["models"]
            one = await listed(gateway, "some", "/v1/models/openai/gpt-5")

    assert [it["id"] for it in everything] == ["openai/gpt-5", "openai/gpt-5-mini", "openai/o9"]
    assert [it["id"] for it in some] == ["openai/gpt-5", "openai/gpt-5-mini"]
    assert [it["id"] for it in page["data"]] == ["openai/gpt-5", "openai/gpt-5-mini"]
    assert [it["name"] for it in tags] == ["openai/gpt-5", "openai/gpt-5-mini"]
    assert one == some[0]
