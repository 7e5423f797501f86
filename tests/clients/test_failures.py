"""What clients raise, what they can read of it, and when they try again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from techniques.core.json import Json, JsonObject
from tests.clients.conftest import Stage
from tests.clients.playing import speaks
from tests.clients.table import who
from tests.e2e.turns import MODELS, Turn, events
from tests.fakes import script
from tests.fakes.script import Answer, body, error

WAIT: Final = {"retry-after": "7"}
KINDS: Final[Mapping[int, frozenset[str]]] = {
    401: frozenset({"AuthenticationError", "MODEL_AUTHENTICATION"}),
    404: frozenset({"NotFoundError", "MODEL_NOT_FOUND"}),
    429: frozenset({"RateLimitError", "MODEL_RATE_LIMIT"}),
    502: frozenset({"InternalServerError"}),
}
"""How the SDKs call an error of each status; whoever is built on them raises or causes it."""
WITHOUT_KINDS: Final = {"vercel", "pydantic-ai"}
"""Who has one kind of error for all, with the status in it."""

each = pytest.mark.parametrize
models = each("model", MODELS)


def chain(failed: Json) -> Iterator[JsonObject]:
    """Yield *failed*, then what caused it."""
    while failed is not None:
        yield failed
        failed = failed["cause"]


def expect(client: str, said: JsonObject, status: int) -> JsonObject:
    """Return the error with *status* among what *client* saw; it is of the kind that it should."""
    seen = list(chain(said["failed"]))
    told = [one for one in seen if one["status"] == status]
    assert told, said
    kinds = {kind for one in seen for kind in one["kinds"]}
    if client.partition("/")[0] not in WITHOUT_KINDS:
        assert kinds & KINDS[status], said
    return next((one for one in told if one["headers"]), told[0])


def refused(model: str, status: int, message: str, headers: Mapping[str, str]) -> Answer:
    """Answer with an error as the provider of *model* words it."""
    if model.startswith("oa"):
        return error(status, message, "some_kind", headers=headers)
    named = {429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}[status]
    told = {"type": "error", "error": {"type": named, "message": message}}
    return body(told, status=status, headers=headers)


@models
@each("client", who("failing"))
@each("how", ["whole", "stream"])
def test_a_limit_is_told_with_how_long_to_wait(
    stage: Stage, client: str, how: str, model: str
) -> None:
    stage.upstream.plays(refused(model, 429, "Slow down, Zoë.", WAIT))

    failed = expect(client, stage.asks(client, how, model), 429)

    assert "Slow down" in failed["message"]
    assert failed["headers"].get("retry-after", "7") == "7"
    assert failed["headers"] or client.partition("/")[0] in {"pydantic-ai", "openai-agents"}


@models
@each("client", who("failing"))
def test_a_fault_of_the_provider_is_the_providers(stage: Stage, client: str, model: str) -> None:
    stage.upstream.plays(refused(model, 500, "It broke.", {}))

    expect(client, stage.asks(client, "whole", model), 502)


@models
@each("client", sorted({*who("failing"), *who("reasoning")}))
def test_a_stream_that_breaks_does_not_look_whole(stage: Stage, client: str, model: str) -> None:
    cut = script.sse(*events(model, Turn(parts=("Hel", "lo")))[:2], end="fin")
    stage.upstream.plays(cut)

    said = stage.asks(client, "stream", model)

    assert "failed" in said, said


@each("client", who("failing"))
def test_an_unknown_key_is_told(stage: Stage, client: str) -> None:
    said = stage.asks(client, "whole", "oa-model", key="lk-nobody")

    expect(client, said, 401)
    assert stage.upstream.asked == []


@each("client", who("failing"))
def test_an_unknown_model_is_told_by_its_name(stage: Stage, client: str) -> None:
    failed = expect(client, stage.asks(client, "whole", "no-such"), 404)

    assert "no-such" in failed["message"]
    assert stage.upstream.asked == []


@each(("status", "model"), [(429, "oa-model"), (500, "an-model"), (529, "oa-model")])
@each("client", who("retried"))
def test_a_client_tries_again(stage: Stage, client: str, status: int, model: str) -> None:
    broken = refused("an" if status == 529 else model, status, "Later.", {"retry-after-ms": "1"})
    stage.upstream.chooses(speaks(broken, Turn(parts=("fine",))))

    assert stage.asks(client, "retried", model) == {"text": "fine"}
    assert len(stage.upstream.asked) == 2
