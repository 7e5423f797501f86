"""Whatever a provider says, none of the account's credentials is in what is said of it."""

from __future__ import annotations

from collections.abc import Generator
from urllib.parse import quote

import orjson
import pytest

from gateway.credentials import is_credential
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import Target
from gateway.upstream.redact import Mask, redact
from techniques.core.errors import UpstreamFailed
from tests.fakes.script import JSON_TYPE, Answer, begin, raw, sse, text
from tests.fakes.upstream import ScriptedUpstream
from tests.gateway.upstream.http_scene import DIALECTS, read

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

_KEYS = [
    "sk-upstream-secret-key-123456",
    "local-pass.word",
    "abcdef",
    "Zm9vYmFyLWJhei1xdXg/aGVsbG8+d29ybGQ=",
    "own-sk-abcdefgh/rest+of.it",
]


@pytest.fixture(scope="module")
def server() -> Generator[ScriptedUpstream, None, None]:
    with ScriptedUpstream() as upstream:
        yield upstream


def answers(key: str) -> list[Answer]:
    """Return the ways in which a provider may show *key*."""
    error = {
        "type": f"x_{key}",
        "code": key,
        "param": f"key_{key}",
        "message": f"Your key {key}, header Bearer {key}, url ?k={quote(key, safe='')}",
    }
    body = orjson.dumps({"error": error})
    long = orjson.dumps({"error": {"message": "x" * (500 - len(key) + 1) + key}})
    inside = b"data: " + body + b"\n\n"
    return [
        *(raw(body, status=status, headers=JSON_TYPE) for status in (400, 401, 429, 500)),
        raw(long, status=400, headers=JSON_TYPE),
        raw(f"debug: authorization={key}".encode(), status=500, headers={}),
        raw(body, headers=JSON_TYPE),
        sse(inside, end="fin"),
        sse(begin(), text("so far"), inside, end="fin"),
    ]


async def failure_of(channel: HttpChannel) -> UpstreamFailed:
    with pytest.raises(UpstreamFailed) as caught:
        await read(channel, [])
    return caught.value


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
@pytest.mark.parametrize("key", _KEYS)
@pytest.mark.parametrize("name", ["", "x-vendor-token"])
async def test_no_failure_shows_a_credential(
    server: ScriptedUpstream, dialect: str, key: str, name: str
) -> None:
    headers = {name: key} if name else DIALECTS[dialect].authorization(key)
    url = f"http://127.0.0.1:{server.port}/v1"
    transport = PooledTransport(Endpoint(url, headers, 1.0, allow_private=True))
    channel = HttpChannel(transport, DIALECTS[dialect], Target("m", "p", "m"), Patience(2.0, 2.0))
    for answer in answers(key):
        server.forget()
        server.plays(answer)
        failed = await failure_of(channel)
        shown = f"{failed} {failed.message} {failed.code} {failed.param} {failed.said}"
        assert key not in shown
        assert quote(key, safe="") not in shown
        assert failed.message
    await transport.close()


@pytest.mark.parametrize("size", range(5, 15))
async def test_a_credential_that_was_cut_is_masked_too(size: int) -> None:
    mask = Mask({"authorization": "Bearer local-pass.word"})

    assert mask.text("It is " + "local-pass.word"[:size]) == "It is ***"


@pytest.mark.parametrize(
    "text",
    ["x_sk-secret-key-12345", "key_sk-secret-key-12345", "(sk-secret-key-12345)", "a Bearer x y"],
)
async def test_a_key_is_seen_wherever_a_word_may_begin(text: str) -> None:
    assert "***" in redact(text)
    assert "secret" not in redact(text)


@pytest.mark.parametrize("text", ["task-management", "the desk-lamp is on", "risk-assessment 2024"])
async def test_words_are_no_keys(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("header", "secret"),
    [
        ("Authorization", True),
        ("proxy-authorization", True),
        ("x-api-key", True),
        ("api-key", True),
        ("apikey", True),
        ("Helicone-Auth", True),
        ("cf-access-client-secret", True),
        ("x_auth_token", True),
        ("cookie", True),
        ("openai-organization", False),
        ("x-portkey-provider", False),
        ("anthropic-version", False),
        ("http-referer", False),
        ("x-monkey", False),
    ],
)
async def test_credentials_are_known_by_the_names_of_their_headers(
    header: str, *, secret: bool
) -> None:
    assert is_credential(header) is secret


async def test_what_is_no_credential_is_left() -> None:
    mask = Mask({"anthropic-version": "2023-06-01", "authorization": "Bearer k"})

    assert mask.text("version 2023-06-01 is ok") == "version 2023-06-01 is ok"
