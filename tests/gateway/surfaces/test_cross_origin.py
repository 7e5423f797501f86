"""Web pages from elsewhere: those that are named may ask, on every surface, and no other."""

from __future__ import annotations

from typing import Any, Final

import pytest
from pydantic import ValidationError

from gateway.config.cors import CorsConfig
from gateway.policy.keys import digest
from techniques.core.json import Json
from tests.gateway.surfaces.test_operations import Answer, Running, chat, serving

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

PAGE: Final = "https://app.example.com"
NAMED: Final[dict[str, Json]] = {"cors": {"origins": [PAGE]}}
KEYS: Final = [{"name": "k", "hash": digest("s", "text")}]
SAID: Final = chat()["messages"]
ASKED: Final[dict[str, Json]] = {
    "/v1/chat/completions": {"messages": SAID},
    "/v1/messages": {"messages": SAID, "max_tokens": 9},
    "/v1/messages/count_tokens": {"messages": SAID},
    "/v1/responses": {"input": "hi"},
    "/v1/responses/input_tokens": {"input": "hi"},
    "/v1/embeddings": {"input": "hi"},
    "/api/chat": {"messages": SAID},
    "/api/generate": {"prompt": "hi"},
    "/api/embed": {"input": "hi"},
    "/api/show": {},
    "/chat/completions": {"messages": SAID},
}
READ: Final = ("/v1/models", "/v1/models/small", "/v1/windows", "/api/tags", "/api/version", "/")


async def preflight(gateway: Running, path: str, origin: str = PAGE, **more: str) -> Answer:
    wanted = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-lang",
    }
    wanted |= {name.replace("_", "-"): value for name, value in more.items()}
    return await gateway.ask(path, wanted, method="OPTIONS")


@pytest.mark.parametrize("path", [*ASKED, *READ, "/v1/responses/resp_1", "/v1/runs", "/nowhere"])
async def test_a_browser_that_asks_first_is_told_without_a_key(path: str) -> None:
    async with serving(server=NAMED, keys=KEYS) as gateway:
        told = await preflight(gateway, path)

    assert told.status == 200
    assert told.headers["access-control-allow-origin"] == PAGE
    assert "POST" in told.headers["access-control-allow-methods"]
    assert "DELETE" in told.headers["access-control-allow-methods"]
    said = told.headers["access-control-allow-headers"]
    assert said == "authorization,content-type,x-stainless-lang"
    assert "access-control-allow-credentials" not in told.headers


@pytest.mark.parametrize("key", ["text", "wrong"])
@pytest.mark.parametrize("path", [*ASKED, *READ])
async def test_its_page_may_read_every_answer_and_every_error(path: str, key: str) -> None:
    headers = {"origin": PAGE, "authorization": f"Bearer {key}"}
    body = {"model": "small", **ASKED[path]} if path in ASKED else None
    async with serving(server=NAMED, keys=KEYS) as gateway:
        told = await gateway.ask(path, headers, body)
        elsewhere = await gateway.ask(path, {**headers, "origin": "https://other.com"}, body)

    assert told.headers["access-control-allow-origin"] == PAGE
    assert told.headers["access-control-expose-headers"] == "*"
    assert told.headers["vary"] == "Origin"
    assert "access-control-allow-origin" not in elsewhere.headers
    assert elsewhere.status == told.status


async def test_a_stream_is_the_same_with_it() -> None:
    asked = {**chat(), "stream": True}
    async with serving(server=NAMED) as gateway:
        plain = await gateway.ask("/v1/chat/completions", None, asked)
        paged = await gateway.ask("/v1/chat/completions", {"origin": PAGE}, asked)

    added = {"access-control-allow-origin", "access-control-expose-headers"}
    assert plain.headers.keys() == paged.headers.keys() - added
    assert paged.body.count(b"data: ") == plain.body.count(b"data: ") > 3
    assert paged.body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("path", ["/admin/keys", "/admin/reload", "/metrics", "/ui"])
async def test_what_is_the_operators_is_for_no_page(path: str) -> None:
    async with serving(server={"cors": {"origins": ["*"]}}) as gateway:
        asked = await preflight(gateway, path)
        got = await gateway.ask(path, {"origin": PAGE, "authorization": "Bearer admin"})

    assert asked.status in (404, 405)
    assert not any(name.startswith("access-control") for name in (*asked.headers, *got.headers))


async def test_no_page_may_where_none_is_named() -> None:
    async with serving(keys=KEYS) as gateway:
        asked = await preflight(gateway, "/v1/chat/completions")
        got = await gateway.ask("/v1/models", {"origin": PAGE, "x-api-key": "text"})

    assert (asked.status, got.status) == (405, 200)
    assert not any(name.startswith("access-control") for name in (*asked.headers, *got.headers))


@pytest.mark.parametrize(
    ("stated", "fits", "others"),
    [
        (PAGE, [PAGE], ["https://app.example.com.evil.org", "http://app.example.com", "null"]),
        (
            "https://*.example.com",
            [PAGE, "https://a.b.example.com"],
            ["https://example.com", "https://evilexample.com", "https://x.example.com.evil.org"],
        ),
        (
            "http://localhost:*",
            ["http://localhost:3000", "http://localhost:5173"],
            ["http://localhost.evil.org:80", "https://localhost:3000"],
        ),
        ("app://obsidian.md", ["app://obsidian.md"], ["app://obsidian-md", "app://obsidian.md.x"]),
        ("chrome-extension://*", ["chrome-extension://abcdef"], ["https://abcdef"]),
    ],
)
async def test_an_origin_fits_as_it_is_written(
    stated: str, fits: list[str], others: list[str]
) -> None:
    async with serving(server={"cors": {"origins": [stated]}}, keys=KEYS) as gateway:
        let_in = [(await preflight(gateway, "/v1/models", one)).status for one in fits]
        kept_out = [(await preflight(gateway, "/v1/models", one)).status for one in others]

    assert set(let_in) == {200}
    assert set(kept_out) == {400}


@pytest.mark.parametrize(
    ("origins", "status"), [([PAGE], 200), (["https://*.example.com"], 200), (["*"], 403)]
)
async def test_without_keys_only_what_is_named_is_let_in(origins: Any, status: int) -> None:
    headers = {"origin": PAGE}
    async with serving(server={"cors": {"origins": origins}}) as gateway:
        told = await gateway.ask("/v1/chat/completions", headers, chat())

    assert told.status == status


async def test_a_page_of_the_web_may_ask_a_gateway_at_home_only_if_it_is_named() -> None:
    wish = {"access_control_request_private_network": "true"}
    async with serving(server=NAMED) as gateway:
        named = await preflight(gateway, "/v1/models", **wish)
    async with serving(server={"cors": {"origins": ["*"]}}) as gateway:
        anybody = await preflight(gateway, "/v1/models", **wish)

    assert named.headers["access-control-allow-private-network"] == "true"
    assert anybody.status == 400


@pytest.mark.parametrize(
    "origin",
    [
        "example.com",
        "https://example.com/",
        "https://example.com/path",
        "HTTPS://example.com",
        "https://*example.com",
        "https://a.*.com",
        "https://*",
        "null",
        "",
    ],
)
async def test_what_is_no_origin_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(ValidationError, match="is no origin"):
        CorsConfig(origins=(origin,))
