"""Other gateways' words, on every surface: they mean what they say, and go no further."""

from __future__ import annotations

import httpx2
import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import Turn, whole
from tests.fakes import script
from tests.fakes.gateway import KEYS
from tests.patience import PATIENCE_S

SAID: dict[str, Json] = {
    "fallbacks": ["an-model"],
    "timeout": 60,
    "num_retries": 0,
    "tags": ["a"],
    "provider": {"order": ["openai"]},
    "usage": {"include": True},
    "optillm_approach": "none",
}
HEADERS = {
    "Authorization": f"Bearer {KEYS['k1']}",
    "Helicone-Auth": "Bearer canary-helicone",
    "x-portkey-trace-id": "t",
    "x-portkey-config": "pc-canary",
    "HTTP-Referer": "https://canary.example",
}
TURNS: Json = [{"role": "user", "content": "hi"}]
VECTORS: Json = {
    "object": "list",
    "model": "real-embed",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
    "usage": {"prompt_tokens": 2, "total_tokens": 2},
}
SURFACES: dict[str, Json] = {
    "/v1/chat/completions": {"model": "oa-model", "messages": TURNS},
    "/v1/messages": {"model": "oa-model", "messages": TURNS, "max_tokens": 9},
    "/v1/responses": {"model": "oa-model", "input": "hi"},
    "/v1/completions": {"model": "oa-model", "prompt": "hi"},
    "/v1/embeddings": {"model": "oa-embed", "input": "hi"},
    "/api/chat": {"model": "oa-model", "messages": TURNS, "stream": False},
    "/api/generate": {"model": "oa-model", "prompt": "hi", "stream": False},
    "/api/embed": {"model": "oa-embed", "input": "hi"},
}
TEXT: Json = {
    "id": "c",
    "object": "text_completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "text": "yes", "finish_reason": "stop", "logprobs": None}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


def _answer(path: str) -> script.Answer:
    if "embed" in path:
        return script.body(VECTORS)
    if path == "/v1/completions":
        return script.body(TEXT)
    return whole("oa-model", Turn(parts=("yes",)))


def _post(scene: Scene, path: str, body: Json, **headers: str) -> httpx2.Response:
    return httpx2.post(
        f"{scene.url}{path}", json=body, headers=HEADERS | headers, timeout=PATIENCE_S
    )


@pytest.mark.parametrize("path", SURFACES)
def test_no_word_of_another_gateway_reaches_the_provider(scene: Scene, path: str) -> None:
    said = {name: value for name, value in SAID.items() if name != "fallbacks"}
    scene.upstream.plays(_answer(path))

    answer = _post(scene, path, SURFACES[path] | said)

    assert answer.status_code == 200, answer.text
    sent = scene.upstream.asked[0]
    assert not SAID.keys() & sent.body.keys()
    told = str(sent.headers)
    assert not any(word in told for word in ("canary-helicone", "pc-canary", "canary.example"))
    told = answer.headers["x-lockgate-warnings"]
    assert "familiar_ignored: provider" in told
    assert "familiar_ignored: x-portkey-config" in told


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
@pytest.mark.parametrize("field", ["fallbacks", "models"])
def test_the_next_model_is_asked_where_the_first_is_down(
    scene: Scene, path: str, field: str
) -> None:
    scene.upstream.plays(whole("an-model", Turn(parts=("yes",))))

    answer = _post(scene, path, SURFACES[path] | {"model": "oa-dead", field: ["an-model"]})

    assert answer.status_code == 200, answer.text
    assert answer.headers["x-lockgate-model"] == "an-model"


def test_anthropics_own_fallbacks_reach_it(scene: Scene) -> None:
    scene.upstream.plays(whole("an-model", Turn(parts=("yes",))))
    others: Json = [{"model": "real-other", "max_tokens": 9}]

    scene.messages.beta.messages.create(
        model="an-model",
        max_tokens=9,
        messages=TURNS,
        betas=["server-side-fallback-2026-07-01"],
        extra_body={"fallbacks": others},
    )

    [asked] = scene.upstream.asked
    assert asked.body["fallbacks"] == others


@pytest.mark.parametrize("path", SURFACES)
def test_what_means_nothing_is_named_on_every_surface(scene: Scene, path: str) -> None:
    answer = _post(scene, path, SURFACES[path] | {"timeout": "soon"})

    assert answer.status_code == 400
    assert "timeout must be a time in seconds" in answer.text


def test_a_key_gains_no_model_by_another_gateways_words(scene: Scene) -> None:
    caged = {"Authorization": "Bearer lk-canary-three-1c0f"}

    answer = _post(
        scene, "/v1/chat/completions", SURFACES["/v1/chat/completions"] | {"models": ["an-model"]},
        **caged,
    )  # fmt: skip

    assert answer.status_code == 403


def test_a_deadline_in_another_gateways_words_is_kept(scene: Scene) -> None:
    scene.upstream.plays(whole("oa-model", Turn(parts=("yes",))).later(5))

    path, soon = "/v1/chat/completions", {"x-litellm-timeout": "0.3"}
    answer = _post(scene, path, SURFACES[path], **soon)

    assert answer.status_code == 408


def test_an_approach_in_the_models_name_is_a_technique(scene: Scene) -> None:
    scene.upstream.plays(*[whole("oa-model", Turn(parts=("yes",)))] * 2)

    answer = _post(
        scene, "/v1/chat/completions", SURFACES["/v1/chat/completions"] | {"model": "re2-oa-model"}
    )

    assert answer.status_code == 200, answer.text
    assert answer.headers["x-lockgate-technique"] == "re2"
    assert {one.body["model"] for one in scene.upstream.asked} == {"real-oa"}
    scene.upstream.forget()


NAMES = (
    *("an-model", "an-model:latest", "none/an-model", "self_consistency/an-model"),
    *("auto/an-model", "moa-an-model", "an-model:floor", "an-model:nitro"),
)
COUNTS: dict[str, tuple[Json, Json]] = {
    "/v1/messages/count_tokens": ({"messages": TURNS}, {"input_tokens": 7}),
    "/v1/responses/input_tokens": ({"input": "hi"}, {"input_tokens": 7}),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("path", COUNTS)
def test_a_count_knows_a_model_by_every_name_that_a_call_does(
    scene: Scene, path: str, name: str
) -> None:
    asked, told = COUNTS[path]
    scene.upstream.plays(script.body(told))
    said = {name: value for name, value in SAID.items() if name != "fallbacks"}

    answer = _post(scene, path, {"model": name, **asked, **said}, **{"x-lockgate-session": "s"})

    assert (answer.status_code, answer.json()["input_tokens"]) == (200, 7), answer.text
    (sent,) = scene.upstream.asked
    assert sent.body["model"] == "real-an"
    assert not (SAID.keys() | {"reliability"}) & sent.body.keys()


@pytest.mark.parametrize("path", COUNTS)
@pytest.mark.parametrize("wrong", ["x-lockgate-nonsense", "x-lockgate-lambda"])
def test_a_wish_that_the_call_would_be_refused_for_is_refused_here(
    scene: Scene, path: str, wrong: str
) -> None:
    answer = _post(scene, path, {"model": "an-model", **COUNTS[path][0]}, **{wrong: "x"})

    assert answer.status_code == 400
    assert wrong in answer.text


def test_the_first_of_openrouters_models_is_counted(scene: Scene) -> None:
    scene.upstream.plays(script.body({"input_tokens": 7}))

    answer = _post(
        scene,
        "/v1/messages/count_tokens",
        {"models": ["an-model", "oa-model"], "messages": TURNS},
    )

    assert (answer.status_code, answer.json()["input_tokens"]) == (200, 7), answer.text
