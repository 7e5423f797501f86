"""Who may look on."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gateway.policy.keys import digest
from techniques.core.json import Json
from tests.gateway.surfaces.test_operations import KEYS, OPEN, chat, serving

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])
BOTH = ("/admin/overview", "/admin/overview/today")
HERE = ("127.0.0.1:8080", "localhost:8080", "LOCALHOST", "127.9.9.9", "[::1]:8080", "[::1]")
ELSEWHERE = (
    "gateway.example:8080",
    "evil.localhost.example",
    "192.168.0.7:8080",
    "127.0.0.1.evil",
    "80",
)


@pytest.mark.parametrize("path", BOTH)
@pytest.mark.parametrize("keys", [[], KEYS], ids=["open", "keyed"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (OPEN, 200),
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": "Bearer key"}, 401),
        ({"x-api-key": "admin"}, 401),
        ({"authorization": "Bearer "}, 401),
    ],
)
async def test_where_there_is_a_token_only_its_bearer_may(
    path: str, keys: Json, headers: Mapping[str, str], status: int
) -> None:
    async with serving("admin", keys=keys) as gateway:
        answer = await gateway.ask(path, headers)

    assert (answer.status, answer.headers["cache-control"]) == (status, "no-store")


@pytest.mark.parametrize("path", BOTH)
async def test_without_a_token_nobody_may_where_there_are_keys(path: str) -> None:
    async with serving(None, keys=KEYS) as gateway:
        for headers in ({}, {"authorization": "Bearer key"}, {"authorization": "Bearer "}):
            answer = await gateway.ask(path, headers)
            assert answer.status == 403
            assert "LOCKGATE_ADMIN_TOKEN" in answer.json["error"]["message"]


@pytest.mark.parametrize("path", BOTH)
async def test_without_keys_and_token_it_is_open_under_this_machines_own_names(path: str) -> None:
    async with serving(None) as gateway:
        here = [(await gateway.ask(path, {"host": host})).status for host in HERE]
        elsewhere = [(await gateway.ask(path, {"host": host})).status for host in ELSEWHERE]
        unnamed = (await gateway.ask(path)).status

    assert here == [200] * len(HERE)
    assert elsewhere == [403] * len(ELSEWHERE)
    assert unnamed == 200


@pytest.mark.parametrize(
    ("admin", "keys", "host", "access"),
    [
        ("admin", [], "localhost", "token"),
        ("admin", KEYS, "gateway.example", "token"),
        (None, [], "localhost", "open"),
        (None, [], "gateway.example", "closed"),
        (None, KEYS, "localhost", "closed"),
    ],
)
async def test_anyone_is_told_how_to_look_on(
    admin: str | None, keys: Json, host: str, access: str
) -> None:
    async with serving(admin, keys=keys) as gateway:
        told = (await gateway.ask("/ui/access", {"host": host})).json

    assert told["access"] == access
    assert ("why" in told) == (access == "closed")


async def test_no_word_of_a_prompt_or_an_answer_and_no_secret_is_told(tmp_path: object) -> None:
    body = chat()
    body["messages"] = [{"role": "user", "content": "What is the capital of Morocco? zebra-7"}]
    keys = [{"name": "k", "hash": digest("s", "key")}]
    database = {"url": f"sqlite:///{tmp_path}/lockgate.db"}
    async with serving("admin", keys=keys, database=database) as gateway:
        asked = {"authorization": "Bearer key", "x-lockgate-session": "s1"}
        asked["x-lockgate-technique"] = "self_consistency"
        assert (await gateway.ask("/v1/chat/completions", asked, body)).status == 200
        told = [(await gateway.ask(path, OPEN)).body for path in BOTH]

    assert b"self_consistency" in told[0]
    for secret in (b"zebra-7", b"Morocco", b"Rabat", b"Bearer", b"hmac", b'admin"'):
        assert not any(secret in one for one in told)
