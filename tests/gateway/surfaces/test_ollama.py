"""Ollama's API as a whole, over the simulation."""

from __future__ import annotations

import re
from pathlib import Path

import anyio
import orjson
import pytest

from gateway.policy.keys import digest
from techniques.core.json import Json
from tests.gateway.surfaces.test_operations import Answer, Running, serving
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

PROVIDERS = {"sim": {"dialect": "openai_chat", "simulated": {"seed": 0}}}
MODELS: list[Json] = [
    {
        "name": "small",
        "provider": "sim",
        "model": "sim-small",
        "capabilities": {"tools": False, "vision": False, "context": 8192},
    },
    {"name": "large", "provider": "sim", "model": "sim-large"},
    {"name": "thinker", "provider": "sim", "model": "sim-large", "thinking_style": "effort"},
    {"name": "tagged:8b", "provider": "sim", "model": "sim-small"},
    {"name": "twice", "provider": "sim", "model": "sim-small"},
    {"name": "twice:latest", "provider": "sim", "model": "sim-large"},
    {"name": "sim-*", "provider": "sim"},
]
KEYS = [
    {"name": "k", "hash": digest("s", "key"), "models": ["small"], "techniques": ["none"]},
]
PRICE = {"input": 1, "output": 1, "per_request": "0.25"}
HI: list[Json] = [{"role": "user", "content": "What is 17 * 23?"}]
BEARER = {"authorization": "Bearer key"}


def served(**sections: Json) -> Json:
    return serving(**{"models": MODELS, "providers": PROVIDERS, **sections})


def lines(answer: Answer) -> list[Json]:
    assert answer.body.endswith(b"\n")
    return [orjson.loads(line) for line in answer.body.split(b"\n")[:-1]]


async def chat(gateway: Running, headers: dict[str, str] | None = None, **fields: Json) -> Answer:
    return await gateway.ask("/api/chat", headers, {"model": "small", "messages": HI, **fields})


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_programs_find_that_it_is_running(method: str) -> None:
    async with served() as gateway:
        answer = await gateway.ask("/", method=method)

    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert method == "HEAD" or answer.body == b"Ollama is running"


async def test_people_find_what_they_found_before() -> None:
    async with served() as gateway:
        page = await gateway.ask("/", {"accept": "text/html,*/*;q=0.8"})

    assert (page.status, page.json["error"]["code"]) == (404, "unknown_path")


async def test_the_version_is_told_to_anyone() -> None:
    async with served(keys=KEYS) as gateway:
        answer = await gateway.ask("/api/version")

    assert re.fullmatch(r"0\.\d+\.\d+", answer.json["version"])


async def test_models_are_listed_with_their_tags() -> None:
    async with served() as gateway:
        listed = (await gateway.ask("/api/tags")).json["models"]
        again = (await gateway.ask("/api/tags")).json["models"]

    names = ["small:latest", "large:latest", "thinker:latest", "tagged:8b", "twice", "twice:latest"]
    assert [row["model"] for row in listed] == names
    assert [row["name"] for row in listed] == [model["name"] for model in MODELS[:-1]]
    assert all(re.fullmatch("[0-9a-f]{64}", row["digest"]) for row in listed)
    assert len({row["digest"] for row in listed}) == len(listed)
    assert listed == again
    assert listed[0]["details"]["families"] == ["sim"]


async def test_a_model_that_has_changed_has_another_digest() -> None:
    digests = set()
    for can in ({}, {"tools": False}, {"context": 9}, {"embeddings": True}):
        models = [{"name": "m", "provider": "sim", "model": "sim-small", "capabilities": can}]
        async with served(models=models) as gateway:
            (row,) = (await gateway.ask("/api/tags")).json["models"]
            digests.add(row["digest"])

    assert len(digests) == 4


async def test_each_name_that_is_listed_is_that_of_its_model() -> None:
    async with served() as gateway:
        for row in (await gateway.ask("/api/tags")).json["models"]:
            for name in (row["name"], row["model"]):
                answer = await chat(gateway, model=name, stream=False)
                assert answer.json["model"] == name
                assert answer.headers["x-lockgate-model"] == row["name"]


async def test_a_key_sees_the_models_it_may_use() -> None:
    async with served(keys=KEYS) as gateway:
        listed = await gateway.ask("/api/tags", BEARER)
        shown = await gateway.ask("/api/show", BEARER, {"model": "small"})
        denied = await gateway.ask("/api/show", BEARER, {"model": "large"})
        nobody = await gateway.ask("/api/tags")
        asked = await chat(gateway, {"x-api-key": "key"}, stream=False)
        refused = await chat(gateway, BEARER, model="large")
        keyless = await chat(gateway)

    assert [row["model"] for row in listed.json["models"]] == ["small:latest"]
    assert (shown.status, asked.status) == (200, 200)
    assert (denied.status, refused.status) == (403, 403)
    assert (nobody.status, keyless.status) == (401, 401)
    for answer in (denied, refused, nobody, keyless):
        assert list(answer.json) == ["error"]
        assert isinstance(answer.json["error"], str)
        assert answer.headers["x-lockgate-request-id"]


async def test_what_a_model_can_do_is_shown() -> None:
    async with served() as gateway:
        small = (await gateway.ask("/api/show", None, {"model": "small:latest"})).json
        large = (await gateway.ask("/api/show", None, {"name": "large"})).json
        thinker = (await gateway.ask("/api/show", None, {"model": "thinker"})).json
        slug = (await gateway.ask("/api/show", None, {"model": "cisc/large"})).json
        matched = (await gateway.ask("/api/show", None, {"model": "sim-thing"})).json

    assert small["capabilities"] == ["completion"]
    assert large["capabilities"] == ["completion", "tools", "vision"]
    assert thinker["capabilities"] == ["completion", "tools", "vision", "thinking"]
    architecture = small["model_info"]["general.architecture"]
    assert small["model_info"][f"{architecture}.context_length"] == 8192
    assert not any(name.endswith("context_length") for name in large["model_info"])
    assert slug == large
    assert matched["model_info"]["general.basename"] == "sim-thing"
    assert {"details", "template", "modelfile", "parameters", "license"} <= small.keys()


async def test_no_model_is_in_the_memory_of_this_machine() -> None:
    async with served() as gateway:
        assert (await gateway.ask("/api/ps")).json == {"models": []}


async def test_a_model_that_is_there_need_not_be_fetched() -> None:
    async with served() as gateway:
        streamed = await gateway.ask("/api/pull", None, {"model": "small"})
        whole = await gateway.ask("/api/pull", None, {"model": "small", "stream": False})
        unknown = await gateway.ask("/api/pull", None, {"model": "nope"})

    assert streamed.headers["content-type"] == "application/x-ndjson"
    assert [line["status"] for line in lines(streamed)] == ["pulling manifest", "success"]
    assert whole.json == {"status": "success"}
    assert (unknown.status, unknown.json) == (404, {"error": "model 'nope' not found"})


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/create"),
        ("POST", "/api/push"),
        ("POST", "/api/copy"),
        ("DELETE", "/api/delete"),
        ("POST", "/api/blobs/sha256:0"),
    ],
)
async def test_models_are_the_operators_to_change(method: str, path: str) -> None:
    async with served() as gateway:
        answer = await gateway.ask(path, None, {"model": "small"}, method)

    assert answer.status == 400
    assert "configuration" in answer.json["error"]


@pytest.mark.parametrize(("path", "status"), [("/api/nope", 404), ("/api/chat", 405)])
async def test_what_is_not_there_is_said_in_a_text(path: str, status: int) -> None:
    async with served() as gateway:
        answer = await gateway.ask(path)

    assert answer.status == status
    assert path in answer.json["error"]


@pytest.mark.parametrize("base", ["/v1", "/", "/v1/"])
async def test_a_base_url_may_be_set_a_little_otherwise(base: str) -> None:
    async with served() as gateway:
        chatted = await gateway.ask(f"{base}/api/chat", None, {"model": "small", "messages": HI})
        listed = await gateway.ask(f"{base}/api/tags")

    assert lines(chatted)[-1]["done"] is True
    assert listed.json["models"]


async def test_an_answer_is_lines_unless_one_object_is_wanted() -> None:
    async with served() as gateway:
        streamed = await chat(gateway)
        whole = await chat(gateway, stream=False)
        generated = await gateway.ask("/api/generate", None, {"model": "small", "prompt": "Hi"})

    assert streamed.headers["content-type"] == "application/x-ndjson"
    assert streamed.headers["cache-control"] == "no-cache"
    assert whole.headers["content-type"] == "application/json"
    assert (lines(streamed)[-1]["done"], whole.json["done"]) == (True, True)
    assert "".join(line["message"]["content"] for line in lines(streamed))
    assert "".join(line["response"] for line in lines(generated))
    for last in (lines(streamed)[-1], whole.json, lines(generated)[-1]):
        assert last["total_duration"] > 0
        assert last["eval_count"] > 0
    assert whole.headers["x-request-id"] == whole.headers["x-lockgate-request-id"]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_technique_is_carried_out_and_told_in_the_last_line(*, stream: bool) -> None:
    async with served() as gateway:
        slug = await chat(gateway, model="self_consistency/small:latest", stream=stream)
        header = await chat(gateway, {"x-lockgate-technique": "self_consistency"}, stream=stream)
        body = await chat(gateway, reliability={"technique": "self_consistency"}, stream=stream)

    for answer in (slug, header, body):
        last = lines(answer)[-1] if stream else answer.json
        assert last["lockgate"]["technique"] == "self_consistency"
        assert last["lockgate"]["calls"] > 1
        assert last["lockgate"]["eval_count"] > last["eval_count"]
        assert answer.headers["x-lockgate-technique"] == "self_consistency"


async def test_what_is_not_heard_is_told_and_under_strict_refused() -> None:
    options = {"mirostat": 1, "temperature": 0}
    async with served() as gateway:
        told = await chat(gateway, stream=False, options=options)
        strict = await chat(gateway, {"x-lockgate-strict": "1"}, options=options)
        quiet = await chat(gateway, stream=False, keep_alive="5m", options={"temperature": 0})

    assert told.headers["x-lockgate-warnings"] == "field_dropped: options.mirostat"
    assert strict.status == 400
    assert "options.mirostat" in strict.json["error"]
    assert "x-lockgate-warnings" not in quiet.headers


@pytest.mark.parametrize(
    ("path", "fields", "status", "text"),
    [
        ("/api/chat", {"model": "nope"}, 404, "model 'nope' not found"),
        ("/api/chat", {"model": "nope", "messages": []}, 404, "model 'nope' not found"),
        ("/api/generate", {"model": "nope", "prompt": ""}, 404, "model 'nope' not found"),
        ("/api/chat", {"model": ""}, 400, "model is required"),
        ("/api/chat", {"format": "yaml"}, 400, "'format' must be"),
        ("/api/chat", {"tools": [{"function": {"name": "f"}}]}, 400, "tools"),
        ("/api/chat", {"reliability": {"x": 1}}, 400, "x"),
        ("/api/show", {"model": "nope"}, 404, "model 'nope' not found"),
        ("/api/show", {"model": 5}, 400, "'model' must be"),
    ],
)
async def test_a_failure_before_the_answer_has_its_status_and_a_text(
    path: str, fields: dict[str, Json], status: int, text: str
) -> None:
    async with served() as gateway:
        answer = await gateway.ask(path, None, {"model": "small", "messages": HI, **fields})

    assert (answer.status, list(answer.json)) == (status, ["error"])
    assert text in answer.json["error"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", ["small:latest", "auto/small", "self_consistency/small"])
async def test_who_looks_for_a_model_asks_none(model: str, *, stream: bool) -> None:
    async with served() as gateway:
        talk = {"model": model, "messages": [], "stream": stream}
        chatted = await gateway.ask("/api/chat", None, talk)
        prompt = {"model": model, "keep_alive": 0, "stream": stream}
        generated = await gateway.ask("/api/generate", None, prompt)
        metrics = (await gateway.ask("/metrics")).body.decode()

    first, second = (orjson.loads(answer.body) for answer in (chatted, generated))
    assert (first["done"], first["done_reason"], first["model"]) == (True, "load", model)
    assert (second["done"], second["done_reason"], second["response"]) == (True, "unload", "")
    assert "lockgate_upstream_attempts_total{" not in metrics
    assert 'lockgate_requests_total{dialect="ollama",' in metrics
    assert 'lockgate_requests_total{dialect="ollama_generate",' in metrics


@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_run_is_written_down_and_told_again(
    tmp_path: Path, path: str, *, stream: bool
) -> None:
    body = {"model": "small", "messages": HI, "prompt": "What is 17 * 23?", "stream": stream}
    headers = {"x-lockgate-run": "r1", "x-lockgate-technique": "self_consistency"}
    async with served(database={"url": f"sqlite+aiosqlite:///{tmp_path}/l.db"}) as gateway:
        first = await gateway.ask(path, headers, body)
        again = await gateway.ask(path, headers, body)
        other = await gateway.ask(path, headers, {**body, "model": "large"})
        shown = await gateway.ask("/v1/runs/r1")

    assert (first.status, again.status) == (200, 200)
    assert texts(first) == texts(again) == texts_in(shown.json["answer"])
    assert again.headers["x-lockgate-run"] == "r1"
    assert (other.status, list(other.json)) == (409, ["error"])
    assert shown.json["answer"]["done"] is True


def texts(answer: Answer) -> str:
    return "".join(texts_in(line) for line in map(orjson.loads, answer.body.splitlines()))


def texts_in(line: Json) -> str:
    text: str = line["message"]["content"] if "message" in line else line["response"]
    return text


async def test_a_run_can_be_carried_out_with_nobody_waiting(tmp_path: Path) -> None:
    headers = {"x-lockgate-run": "r1", "prefer": "respond-async"}
    async with served(database={"url": f"sqlite+aiosqlite:///{tmp_path}/l.db"}) as gateway:
        begun = await chat(gateway, headers)
        with anyio.fail_after(PATIENCE_S):
            while (await gateway.ask("/v1/runs/r1")).json["state"] != "completed":  # noqa: ASYNC110 - who asks can only look
                await anyio.sleep(0.01)
        shown = await gateway.ask("/v1/runs/r1")

    assert begun.status == 202
    assert texts_in(shown.json["answer"])


async def test_a_budget_that_is_spent_is_told_in_a_text(tmp_path: Path) -> None:
    keys = [{**KEYS[0], "budget": {"usd": "0.000001", "period": "total"}}]
    models = [{"name": "small", "provider": "sim", "model": "sim-small", "price": PRICE}]
    async with served(
        keys=keys, models=models, database={"url": f"sqlite+aiosqlite:///{tmp_path}/l.db"}
    ) as gateway:
        answer = await chat(gateway, BEARER)

    assert (answer.status, list(answer.json)) == (402, ["error"])
