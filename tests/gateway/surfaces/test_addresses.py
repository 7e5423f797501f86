"""A NUL in an address or a text, which PostgreSQL cannot keep, is refused before it gets there."""

from __future__ import annotations

import pytest

from gateway.policy.keys import digest
from techniques.core.json import Json
from tests.gateway.surfaces.test_operations import serving

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

KEY = {"authorization": "Bearer app-key"}
ADMIN = {"authorization": "Bearer admin"}
PERSON = {"authorization": "Bearer ana-token"}
STATED: dict[str, Json] = {
    "keys": [{"name": "app", "hash": digest("s", "app-key")}],
    "attention": {"persons": [{"name": "ana", "hash": digest("s", "ana-token")}]},
}
ASKED = {"model": "small", "messages": [{"role": "user", "content": "What is 17 * 23?"}]}
ADDRESSES = [
    ("GET", "/v1/runs/a\0b", KEY),
    ("GET", "/v1/runs/a\0b/events", KEY),
    ("GET", "/v1/runs/a\0b/export", KEY),
    ("POST", "/v1/runs/a\0b/resume", KEY),
    ("POST", "/v1/runs/a\0b/cancel", KEY),
    ("POST", "/v1/runs/a\0b/fork", KEY),
    ("DELETE", "/v1/runs/a\0b", KEY),
    ("GET", "/v1/runs?session=%00", KEY),
    ("DELETE", "/v1/runs?session=%00", KEY),
    ("GET", "/v1/runs?key=%00", ADMIN),
    ("DELETE", "/admin/runs?key=%00", ADMIN),
    ("GET", "/v1/sessions/\0", KEY),
    ("GET", "/v1/approvals/\0", KEY),
    ("GET", "/v1/approvals/\0", PERSON),
    ("POST", "/v1/approvals/\0/approve", PERSON),
    ("GET", "/admin/ledger?run=%00", ADMIN),
    ("GET", "/admin/ledger?key=%00", ADMIN),
    ("GET", "/admin/ledger?request=%00", ADMIN),
    ("DELETE", "/admin/keys/\0", ADMIN),
    ("PATCH", "/admin/keys/\0", ADMIN),
    ("POST", "/admin/keys/\0/rotate", ADMIN),
    ("DELETE", "/admin/teams/\0", ADMIN),
]


async def test_an_address_with_a_nul_is_refused_in_the_clients_words(database_url: str) -> None:
    async with serving(**STATED, database={"url": database_url}) as gateway:
        for method, path, headers in ADDRESSES:
            answer = await gateway.ask(path, headers, {}, method)
            assert answer.status == 400, (path, answer.body)
            assert answer.json["error"]["type"] == "invalid_request_error"
            spoken = {**headers, "anthropic-version": "2023-06-01"}
            answer = await gateway.ask(path, spoken, {}, method)
            assert (answer.status, answer.json["type"]) == (400, "error")


async def test_a_text_with_a_nul_is_refused_where_it_would_be_kept(database_url: str) -> None:
    question = {"person": "ana", "question": "Deploy?"}
    async with serving(**STATED, database={"url": database_url}) as gateway:
        made = await gateway.ask("/v1/approvals", KEY, question)
        decide = f"/v1/approvals/{made.json['id']}/approve"
        for path, headers, body in (
            ("/v1/approvals", KEY, {**question, "question": "a\0b"}),
            ("/v1/approvals", KEY, {**question, "detail": "a\0b"}),
            ("/v1/approvals", KEY, {**question, "options": ["a", "b\0"]}),
            (decide, PERSON, {"note": "a\0b"}),
            (decide, PERSON, {"option": "a\0b"}),
            ("/v1/chat/completions", KEY, {**ASKED, "reliability": {"session": "a\0b"}}),
            ("/v1/chat/completions", KEY, {**ASKED, "reliability": {"tags": "a\0b"}}),
        ):
            answer = await gateway.ask(path, headers, body)
            assert answer.status == 400, (body, answer.body)
        detail = {**question, "detail": "two\nlines, é ☃"}
        assert (await gateway.ask("/v1/approvals", KEY, detail)).status == 201


async def test_what_is_said_with_a_nul_elsewhere_is_passed_on_and_kept(database_url: str) -> None:
    said = [{"role": "user", "content": "What is 17 * 23? \0"}]
    headers = {**KEY, "x-lockgate-run": "nul", "x-lockgate-technique": "baseline"}
    async with serving(**STATED, database={"url": database_url}) as gateway:
        for _ in range(2):
            answer = await gateway.ask("/v1/chat/completions", headers, {**ASKED, "messages": said})
            assert answer.status == 200, answer.body
            assert "x-lockgate-warnings" not in answer.headers
        seen = await gateway.ask("/v1/runs/nul", KEY)
        assert seen.json["state"] == "completed"
