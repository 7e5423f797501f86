"""The application's other paths, over the simulation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import orjson
import pytest

from gateway.app import App
from gateway.config import Config, Secrets
from gateway.policy.keys import digest
from gateway.wiring import running
from techniques.core.json import Json

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

PROVIDERS = {"sim": {"dialect": "openai_chat", "simulated": {"seed": 0}}}
MODELS = [
    {
        "name": "small",
        "provider": "sim",
        "model": "sim-small",
        "price": {"input": 0, "output": 0, "per_request": "0.25"},
    },
    {"name": "large", "provider": "sim", "model": "sim-large"},
    {"name": "sim-*", "provider": "sim"},
]
KEYS = [{"name": "k", "hash": digest("s", "key"), "models": ["small", "sim-small"]}]
OPEN = {"authorization": "Bearer admin"}


@dataclass
class Answer:
    """A response that has come whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        return orjson.loads(self.body)


class Running:
    """An application whose lifespan has begun."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def ask(
        self,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: Json = None,
        method: str | None = None,
    ) -> Answer:
        path, _, query = path.partition("?")
        sent: list[Any] = []
        received = anyio.Event()

        async def receive() -> Json:
            if received.is_set():
                await anyio.sleep_forever()
            received.set()
            raw = b"" if body is None else orjson.dumps(body)
            return {"type": "http.request", "body": raw, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": method or ("GET" if body is None else "POST"),
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(k.encode(), v.encode("latin-1")) for k, v in (headers or {}).items()],
        }
        await self.app(scope, receive, send)
        pairs = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], pairs, b"".join(m["body"] for m in sent[1:]))


@asynccontextmanager
async def serving(admin: str | None = "admin", **sections: Json) -> AsyncGenerator[Running, None]:
    sections.setdefault("database", {"url": "none"})
    config = Config.model_validate({"providers": PROVIDERS, "models": MODELS, **sections})
    app = App(lambda: running(config, Secrets("s", admin)))
    to_app, from_app = anyio.Event(), anyio.Event()
    told: list[str] = []

    async def receive() -> Json:
        if not told:
            told.append("startup")
            return {"type": "lifespan.startup"}
        await to_app.wait()
        return {"type": "lifespan.shutdown"}

    async def send(message: Any) -> None:
        assert message["type"].endswith(".complete"), message
        from_app.set()

    async with anyio.create_task_group() as group:
        group.start_soon(app, {"type": "lifespan", "state": {}}, receive, send)
        await from_app.wait()
        yield Running(app)
        to_app.set()


def chat(model: str = "small") -> dict[str, Json]:
    return {"model": model, "messages": [{"role": "user", "content": "What is 17 * 23?"}]}


async def test_a_gateway_that_runs_is_alive_and_ready() -> None:
    async with serving() as gateway:
        assert (await gateway.ask("/healthz")).json == {"status": "ok"}
        assert (await gateway.ask("/readyz")).json == {"status": "ready"}


async def test_a_gateway_that_stops_is_alive_and_takes_no_calls() -> None:
    async with serving() as gateway:
        assert gateway.app.gate is not None
        gateway.app.gate.closing = True
        ready = await gateway.ask("/readyz")
        refused = await gateway.ask("/v1/chat/completions", body=chat())
        alive = await gateway.ask("/healthz")

    assert (ready.status, refused.status, alive.status) == (503, 503, 200)
    assert refused.headers["x-lockgate-request-id"]


async def test_a_call_is_served_and_can_be_looked_up() -> None:
    async with serving() as gateway:
        answer = await gateway.ask("/v1/chat/completions", body=chat())
        name = answer.headers["x-lockgate-request-id"]
        found = await gateway.ask(f"/admin/ledger?request={name}", OPEN)

    assert "391" in answer.json["choices"][0]["message"]["content"]
    (row,) = found.json["rows"]
    assert (row["request_id"], row["model"], row["outcome"]) == (name, "small", "ok")
    assert (row["cost_usd"], answer.headers["x-lockgate-cost-usd"]) == ("0.25", "0.25")
    assert found.json["request"]["outcome"] == "success"


async def test_a_request_that_is_not_known_is_said_to_be_kept_nowhere_here() -> None:
    async with serving() as gateway:
        found = await gateway.ask("/admin/ledger?request=nope", OPEN)
        unsaid = await gateway.ask("/admin/ledger", OPEN)

    assert (found.status, unsaid.status) == (404, 400)
    assert found.json["error"]["code"] == "not_found"
    assert "another worker" in found.json["error"]["message"]


@pytest.mark.parametrize(
    "authorization", [None, "Bearer no", "Basic admin", "admin", "Bearer \xff"]
)
async def test_the_records_are_for_the_admin_alone(authorization: str | None) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    async with serving() as gateway:
        refused = await gateway.ask("/admin/ledger?request=x", headers)

    assert refused.status == 401
    assert set(refused.json["error"]) == {"message", "type", "param", "code"}


async def test_a_token_may_have_characters_beyond_ascii() -> None:
    sent = {"authorization": "Bearer " + "schlüssel".encode().decode("latin-1")}
    async with serving("schlüssel") as gateway:
        assert (await gateway.ask("/admin/ledger?request=x", sent)).status == 404


async def test_without_an_admin_token_the_records_are_closed() -> None:
    async with serving(None) as gateway:
        assert (await gateway.ask("/admin/ledger?request=x", OPEN)).status == 403


async def test_metrics_have_what_was_served_by_now() -> None:
    async with serving() as gateway:
        await gateway.ask("/v1/chat/completions", body=chat("sim-small"))
        text = (await gateway.ask("/metrics")).body.decode()

    counted = [line for line in text.splitlines() if line.startswith("lockgate_requests_total")]
    assert [line for line in counted if not line.endswith(" 0.0")] == [
        'lockgate_requests_total{dialect="openai_chat",model="sim-*",'
        'outcome="success",technique="none"} 1.0'
    ]
    assert "sim-small" not in text
    assert "_created" not in text


async def test_metrics_may_want_a_token() -> None:
    async with serving(metrics={"token": "t"}) as gateway:
        assert (await gateway.ask("/metrics")).status == 401
        assert (await gateway.ask("/metrics", {"authorization": "Bearer t"})).status == 200


async def test_models_are_listed_as_each_dialect_has_them() -> None:
    async with serving() as gateway:
        openai = await gateway.ask("/v1/models")
        anthropic = await gateway.ask("/v1/models", {"anthropic-version": "2023-06-01"})

    assert openai.json["object"] == "list"
    assert [row["id"] for row in openai.json["data"]] == ["small", "large"]
    assert {row["owned_by"] for row in openai.json["data"]} == {"sim"}
    assert [row["id"] for row in anthropic.json["data"]] == ["small", "large"]
    assert (anthropic.json["first_id"], anthropic.json["last_id"]) == ("small", "large")
    assert anthropic.json["has_more"] is False
    assert openai.headers["x-lockgate-request-id"] == openai.headers["x-request-id"]
    assert anthropic.headers["x-lockgate-request-id"] == anthropic.headers["request-id"]


async def test_one_model_is_told_by_the_name_that_was_asked_for() -> None:
    async with serving() as gateway:
        plain = await gateway.ask("/v1/models/small")
        matched = await gateway.ask("/v1/models/sim-thing/1")
        unknown = await gateway.ask("/v1/models/nope")

    assert (plain.json["id"], matched.json["id"]) == ("small", "sim-thing/1")
    assert (unknown.status, unknown.json["error"]["code"]) == (404, "model_not_found")


async def test_a_key_sees_the_models_it_may_use() -> None:
    key = {"x-api-key": "key"}
    async with serving(keys=KEYS) as gateway:
        listed = await gateway.ask("/v1/models", key)
        allowed = await gateway.ask("/v1/models/sim-small", key)
        hidden = await gateway.ask("/v1/models/large", key)
        hidden_too = await gateway.ask("/v1/models/sim-thing/1", key)
        nobody = await gateway.ask("/v1/models")
        nobody_there = await gateway.ask("/v1/models/small", {"anthropic-version": "1"})

    assert [row["id"] for row in listed.json["data"]] == ["small"]
    assert (allowed.status, hidden.status, hidden_too.status) == (200, 404, 404)
    assert hidden_too.json["error"]["message"] == "There is no model 'sim-thing/1'."
    assert (nobody.status, nobody_there.status) == (401, 401)
    assert nobody_there.json["type"] == "error"


async def test_tokens_of_a_model_without_a_count_of_its_own_are_estimated() -> None:
    asked = {"model": "small", "messages": [{"role": "user", "content": "x" * 400}]}
    async with serving(keys=KEYS) as gateway:
        key = {"x-api-key": "key"}
        counted = await gateway.ask("/v1/messages/count_tokens", key, asked)
        denied = await gateway.ask("/v1/messages/count_tokens", key, {**asked, "model": "large"})
        nobody = await gateway.ask("/v1/messages/count_tokens", {}, asked)

    assert counted.headers["x-lockgate-count-source"] == "estimate"
    assert 90 <= counted.json["input_tokens"] <= 120
    assert (denied.status, nobody.status) == (403, 401)
    assert all(answer.headers["x-lockgate-request-id"] for answer in (counted, denied, nobody))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nope", 404),
        ("POST", "/", 404),
        ("GET", "/v1/chat/completions", 405),
        ("DELETE", "/v1/models", 405),
    ],
)
async def test_what_is_not_there_is_said_in_json(method: str, path: str, status: int) -> None:
    async with serving() as gateway:
        answer = await gateway.ask(path, method=method)

    assert answer.status == status
    assert answer.json["error"]["message"]


async def test_a_count_is_a_request_like_any_other() -> None:
    asked = {"model": "sim-thing", "messages": [{"role": "user", "content": "hi"}]}
    async with serving() as gateway:
        counted = await gateway.ask("/v1/messages/count_tokens", {}, asked)
        name = counted.headers["x-lockgate-request-id"]
        found = await gateway.ask(f"/admin/ledger?request={name}", OPEN)
        text = (await gateway.ask("/metrics")).body.decode()

    assert found.json["rows"] == []  # the simulation was not asked
    assert (found.json["request"]["model"], found.json["request"]["status"]) == ("sim-*", 200)
    line = (
        'lockgate_requests_total{dialect="anthropic",model="sim-*",'
        'outcome="success",technique="none"} 1.0'
    )
    assert line in text
    assert 'lockgate_requests_in_flight{dialect="anthropic"} 0.0' in text


async def test_a_gateway_that_stops_counts_no_tokens() -> None:
    async with serving() as gateway:
        assert gateway.app.gate is not None
        gateway.app.gate.closing = True
        answer = await gateway.ask("/v1/messages/count_tokens", {}, chat())

    assert (answer.status, answer.json["type"]) == (503, "error")


@pytest.mark.parametrize(
    ("model", "headers", "told"),
    [
        ("small", {"x-lockgate-technique": "zap"}, ("small", "unknown_technique")),
        ("sim-secret", {"x-lockgate-technique": "zap"}, ("sim-*", "unknown_technique")),
        (
            "self_consistency/small",
            {"x-lockgate-params": '{"zap": 1}'},
            ("small", "invalid_option"),
        ),
        ("my secret", {}, ("", "model_not_found")),
    ],
)
async def test_what_was_refused_is_logged_by_our_names_alone(
    model: str, headers: dict[str, str], told: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    async with serving() as gateway:
        refused = await gateway.ask("/v1/chat/completions", headers, chat(model))
        await gateway.ask("/metrics")  # what has come by now is written

    (line,) = [x for x in capfd.readouterr().err.splitlines() if "request.finished" in x]
    logged = orjson.loads(line)
    assert refused.status in (400, 404)
    assert (logged["model"], logged["code"]) == told
    assert "secret" not in line
