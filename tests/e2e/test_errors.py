"""What goes wrong reaches each SDK as the exception that its users catch."""

from __future__ import annotations

import time
from typing import NamedTuple

import anthropic
import openai
import pytest

from techniques.core.json import Json
from tests.e2e.conftest import CAGED_KEY, Scene
from tests.e2e.turns import MODELS, Turn, whole
from tests.fakes import script
from tests.fakes.script import Answer
from tests.patience import NEVER_S, SOON_S, eventually

ASKED: list[Json] = [{"role": "user", "content": "hello"}]
GREETING = Turn(parts=("Hello.",))


def chat(scene: Scene, model: str = "oa-model", **more: Json) -> Json:
    """Ask as a chat client; *more* may hold the client's own options under ``client``."""
    client = scene.chat.with_options(**more.pop("client", {}))
    return client.chat.completions.create(model=model, messages=ASKED, **more)


def message(scene: Scene, model: str = "oa-model", **more: Json) -> Json:
    """Ask as a messages client."""
    client = scene.messages.with_options(**more.pop("client", {}))
    return client.messages.create(model=model, max_tokens=9, messages=ASKED, **more)


class Case(NamedTuple):
    """A failure of the client's own, and how both SDKs tell of it."""

    status: int
    code: str
    chat: type[openai.APIStatusError]
    message: type[anthropic.APIStatusError]
    asked: dict[str, Json]


OWN = {
    "bad": Case(
        400,
        "invalid_wish",
        openai.BadRequestError,
        anthropic.BadRequestError,
        {"extra_headers": {"x-lockgate-max-calls": "many"}},
    ),
    "key": Case(
        401,
        "invalid_api_key",
        openai.AuthenticationError,
        anthropic.AuthenticationError,
        {"client": {"api_key": "lk-wrong"}},
    ),
    "cap": Case(
        402,
        "cap_reached",
        openai.APIStatusError,
        anthropic.PaymentRequiredError,
        {"extra_headers": {"x-lockgate-max-cost-usd": "0"}},
    ),
    "denied": Case(
        403,
        "permission_denied",
        openai.PermissionDeniedError,
        anthropic.PermissionDeniedError,
        {"client": {"api_key": CAGED_KEY}, "model": "an-model"},
    ),
    "technique": Case(
        403,
        "permission_denied",
        openai.PermissionDeniedError,
        anthropic.PermissionDeniedError,
        {
            "client": {"api_key": CAGED_KEY},
            "extra_headers": {"x-lockgate-technique": "self_consistency"},
        },
    ),
    "model": Case(
        404,
        "model_not_found",
        openai.NotFoundError,
        anthropic.NotFoundError,
        {"model": "no-such-model"},
    ),
    "large": Case(
        413,
        "request_too_large",
        openai.APIStatusError,
        anthropic.ContentTooLargeError,
        {"extra_body": {"padding": "x" * 300_000}},
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_a_clients_own_mistake_has_its_class_message_and_code(scene: Scene, name: str) -> None:
    case = OWN[name]

    with pytest.raises(openai.APIStatusError) as chatted:
        chat(scene, **_copy(case.asked))
    with pytest.raises(anthropic.APIStatusError) as messaged:
        message(scene, **_copy(case.asked))

    assert type(chatted.value) is case.chat
    assert chatted.value.status_code == messaged.value.status_code == case.status
    assert chatted.value.code == messaged.value.error_code == case.code
    assert isinstance(messaged.value, case.message)
    assert chatted.value.request_id
    assert messaged.value.request_id
    assert messaged.value.api_message
    assert chatted.value.body
    assert not scene.upstream.asked


def _copy(asked: dict[str, Json]) -> dict[str, Json]:
    return {name: dict(v) if isinstance(v, dict) else v for name, v in asked.items()}


def test_a_deadline_is_a_timeout_of_the_request(scene: Scene) -> None:
    slow = whole("oa-model", GREETING).later(NEVER_S)
    scene.upstream.plays(slow, slow)
    soon = {"x-lockgate-deadline-ms": "80"}

    with pytest.raises(openai.APIStatusError) as chatted:
        chat(scene, extra_headers=soon)
    with pytest.raises(anthropic.RequestTimeoutError) as messaged:
        message(scene, extra_headers=soon)

    assert (chatted.value.status_code, chatted.value.code) == (408, "deadline_passed")
    assert messaged.value.error_code == "deadline_passed"


def said(model: str, status: int, words: str, kind: str, headers: Json = None) -> Answer:
    """Return an error of the provider that *model* is at."""
    if model.startswith("oa"):
        return script.error(status, words, kind, headers=headers)
    error = {"type": "error", "error": {"type": kind, "message": words}}
    return script.body(error, status=status, headers=headers)


CHAT_CLASS: dict[int, type[openai.APIStatusError]] = {
    400: openai.BadRequestError,
    404: openai.NotFoundError,
    409: openai.ConflictError,
    429: openai.RateLimitError,
    502: openai.InternalServerError,
    503: openai.InternalServerError,
}
MESSAGE_CLASS: dict[int, type[anthropic.APIStatusError]] = {
    400: anthropic.BadRequestError,
    404: anthropic.NotFoundError,
    409: anthropic.ConflictError,
    429: anthropic.RateLimitError,
    502: anthropic.InternalServerError,
    529: anthropic.OverloadedError,
}
FAILED = [
    (400, "invalid_request_error", (400, 400)),
    (404, "not_found_error", (404, 404)),
    (409, "conflict_error", (409, 409)),
    (429, "rate_limit_error", (429, 429)),
    (500, "api_error", (502, 502)),
    (502, "api_error", (502, 502)),
    (529, "overloaded_error", (503, 529)),
]
"""What a provider says, and the statuses on both surfaces."""


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("status", "kind", "statuses"), FAILED)
def test_a_providers_failure_has_its_class_and_words(
    scene: Scene, model: str, status: int, kind: str, statuses: tuple[int, int]
) -> None:
    failure = said(model, status, "Words of the provider.", kind)
    scene.upstream.plays(failure, failure)

    with pytest.raises(CHAT_CLASS[statuses[0]], match="Words of the provider") as chatted:
        chat(scene, model)
    with pytest.raises(MESSAGE_CLASS[statuses[1]]) as messaged:
        message(scene, model)

    assert (chatted.value.status_code, messaged.value.status_code) == statuses
    assert messaged.value.api_message == "Words of the provider."


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("status", [204, 302, 304, 307])
def test_what_is_no_answer_and_no_error_is_the_providers_fault(
    scene: Scene, model: str, status: int
) -> None:
    scene.upstream.plays(*[Answer(status=status, headers={"location": "/elsewhere"})] * 2)

    with pytest.raises(openai.InternalServerError) as chatted:
        chat(scene, model)
    with pytest.raises(anthropic.InternalServerError) as messaged:
        message(scene, model)

    told = chatted.value.status_code, messaged.value.status_code
    assert (*told, len(scene.upstream.asked)) == (502, 502, 2)


@pytest.mark.parametrize("model", MODELS)
def test_a_key_that_the_provider_refuses_is_not_the_clients(scene: Scene, model: str) -> None:
    failure = said(model, 401, "No such key: sk-canary-openai-c01d", "authentication_error")
    scene.upstream.plays(failure, failure)

    with pytest.raises(openai.InternalServerError, match="gateway's own credential") as chatted:
        chat(scene, model)
    with pytest.raises(anthropic.InternalServerError, match="gateway's own") as messaged:
        message(scene, model)

    assert chatted.value.status_code == messaged.value.status_code == 502
    assert "sk-canary" not in f"{chatted.value} {messaged.value}"


@pytest.mark.parametrize("model", MODELS)
def test_a_stream_that_fails_before_it_begins_has_its_own_status(scene: Scene, model: str) -> None:
    failure = said(model, 429, "Slow down.", "rate_limit_error", {"retry-after": "7"})
    scene.upstream.plays(failure, failure)

    with pytest.raises(openai.RateLimitError) as chatted:
        chat(scene, model, stream=True)
    with pytest.raises(anthropic.RateLimitError) as messaged:
        message(scene, model, stream=True)

    assert chatted.value.response.headers["retry-after"] == "7"
    assert messaged.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize("model", MODELS)
def test_an_sdk_waits_as_told_and_tries_again(scene: Scene, model: str) -> None:
    failure = said(model, 429, "Slow down.", "rate_limit_error", {"retry-after": "1"})
    scene.upstream.plays(failure, whole(model, GREETING), failure, whole(model, GREETING))
    again = {"max_retries": 2}

    began = time.monotonic()
    chatted = chat(scene, model, client=again)
    between = time.monotonic()
    messaged = message(scene, model, client=again)
    ended = time.monotonic()

    assert chatted.choices[0].message.content == GREETING.text
    assert messaged.content[0].text == GREETING.text
    assert 1.0 <= between - began < SOON_S
    assert 1.0 <= ended - between < SOON_S


@pytest.mark.parametrize("model", MODELS)
def test_an_sdk_does_not_try_again_what_cannot_work(scene: Scene, model: str) -> None:
    words = "You exceeded your current quota: insufficient_quota."
    failure = said(model, 402, words, "billing_error")
    scene.upstream.plays(failure, failure)
    again = {"max_retries": 2}

    with pytest.raises(openai.RateLimitError) as chatted:
        chat(scene, model, client=again)
    with pytest.raises(anthropic.PaymentRequiredError):
        message(scene, model, client=again)

    assert len(scene.upstream.asked) == 2
    assert chatted.value.response.headers["x-should-retry"] == "false"


def test_a_cap_is_not_tried_again(scene: Scene) -> None:
    capped = {"x-lockgate-max-cost-usd": "0"}

    with pytest.raises(openai.APIStatusError) as chatted:
        chat(scene, client={"max_retries": 2}, extra_headers=capped)
    with pytest.raises(anthropic.PaymentRequiredError) as messaged:
        message(scene, client={"max_retries": 2}, extra_headers=capped)

    for failure in (chatted.value, messaged.value):
        assert failure.response.headers["x-should-retry"] == "false"
        assert failure.response.request.headers["x-stainless-retry-count"] == "0"


def test_a_provider_that_is_gone_is_a_bad_gateway(scene: Scene) -> None:
    with pytest.raises(openai.InternalServerError) as chatted:
        chat(scene, "oa-dead")
    with pytest.raises(anthropic.InternalServerError) as messaged:
        message(scene, "oa-dead")

    assert chatted.value.status_code == messaged.value.status_code == 502


def test_a_client_that_gives_up_frees_the_provider(scene: Scene) -> None:
    scene.upstream.plays(whole("oa-model", GREETING).later(NEVER_S))

    with pytest.raises(openai.APITimeoutError):
        chat(scene, timeout=0.2)

    assert eventually(lambda: scene.upstream.asked[0].left is not None)
