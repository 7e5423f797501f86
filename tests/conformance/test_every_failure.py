"""How a failure is told on every surface, of every kind of provider, whole and streamed."""

from __future__ import annotations

from typing import Final, NamedTuple

import pytest

from gateway.app import DIALECTS
from gateway.surfaces import spoken
from gateway.upstream import provider, providers
from tests.conformance.dialects import (
    BESIDE,
    EVERYWHERE,
    MODELS,
    SURFACES,
    asked,
    code_of,
    message_of,
    refusal,
    said_hello,
)
from tests.conformance.stage import IMPATIENT, Stage
from tests.fakes import script
from tests.fakes.gateway import UPSTREAM_KEYS
from tests.patience import NEVER_S

ONCE: Final = {"upstream": {"retries": 0}}
OPENAIS: Final = ("chat", "responses", "embeddings", "completions")
"""Surfaces whose errors have OpenAI's form."""


class Fault(NamedTuple):
    """What a provider says: its status, type and code, and words if they matter.

    ``told`` is the status that clients get, ``messages`` that of the Messages API with its type,
    ``code`` what programs read where the provider gave a code, ``named`` where it did not.
    """

    status: int
    type: str
    code: str | None
    told: int
    messages: tuple[int, str]
    named: str
    words: str = "Words of the provider."


_BAD: Final = "invalid_request_error"
FAULTS: Final = {
    "bad": Fault(400, _BAD, "invalid_value", 400, (400, _BAD), "upstream_rejected"),
    "policy": Fault(400, _BAD, "content_policy_violation", 400, (400, _BAD), "upstream_rejected"),
    "long": Fault(
        *(400, _BAD, "context_length_exceeded", 400, (400, _BAD), "context_length_exceeded"),
        "prompt is too long: 9 tokens > 8 maximum",
    ),
    "model": Fault(
        404, "not_found_error", "model_not_found", 404, (404, "not_found_error"), "model_not_found"
    ),
    "large": Fault(
        413, "request_too_large", None, 413, (413, "request_too_large"), "upstream_rejected"
    ),
    "forbidden": Fault(
        403, "permission_error", None, 403, (403, "permission_error"), "upstream_forbidden"
    ),
    "limit": Fault(
        *(429, "rate_limit_error", "rate_limit_exceeded", 429, (429, "rate_limit_error")),
        "rate_limit_exceeded",
    ),
    "quota": Fault(
        *(429, "rate_limit_error", "insufficient_quota", 429, (429, "rate_limit_error")),
        "insufficient_quota",
        "Your credit balance is too low, and your quota is used up.",
    ),
    "server": Fault(500, "api_error", None, 502, (502, "api_error"), "upstream_failed"),
    "busy": Fault(503, "api_error", None, 503, (529, "overloaded_error"), "upstream_overloaded"),
    "overloaded": Fault(
        529, "overloaded_error", None, 503, (529, "overloaded_error"), "upstream_overloaded"
    ),
}


@pytest.mark.gateway(ONCE)
@EVERYWHERE
@pytest.mark.parametrize("name", FAULTS)
def test_a_failure_keeps_its_status_its_words_and_its_code(
    stage: Stage, client: str, upstream: str, streamed: str, name: str
) -> None:
    fault = FAULTS[name]
    stage.upstream.plays(refusal(upstream, fault.status, fault.type, fault.code, words=fault.words))

    answer = asked(stage, client, upstream, streamed)

    assert message_of(client, answer) == fault.words
    expected = fault.messages[0] if client == "messages" else fault.told
    assert answer.status == expected
    given = fault.code if upstream != "anthropic" else None
    if client in OPENAIS:
        assert code_of(client, answer) == (given or fault.named)
    if client == "messages":
        assert answer.json["error"]["type"] == fault.messages[1]
        kept = {"context_length_exceeded", "insufficient_quota", "upstream_forbidden"}
        assert code_of(client, answer) == (given or (fault.named if fault.named in kept else None))


@pytest.mark.gateway(ONCE)
@pytest.mark.parametrize("client", BESIDE)
@pytest.mark.parametrize("name", FAULTS)
def test_a_failure_beside_conversations_is_told_alike(stage: Stage, client: str, name: str) -> None:
    fault = FAULTS[name]
    stage.upstream.plays(
        refusal("openai_chat", fault.status, fault.type, fault.code, words=fault.words)
    )

    answer = asked(stage, client, "openai_chat", "whole")

    assert answer.status == fault.told
    assert message_of(client, answer) == fault.words
    if client in OPENAIS:
        assert code_of(client, answer) == (fault.code or fault.named)


@pytest.mark.gateway(ONCE)
@EVERYWHERE
def test_the_gateways_own_key_is_not_the_clients(
    stage: Stage, client: str, upstream: str, streamed: str
) -> None:
    words = f"Incorrect API key provided: {UPSTREAM_KEYS['oa']}. Look at your account."
    stage.upstream.plays(refusal(upstream, 401, "authentication_error", words=words))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 502
    named = answer.headers["x-lockgate-provider"]
    assert f"The provider {named} refused the gateway's own" in message_of(client, answer)
    assert "Incorrect" not in str(answer.json)
    assert answer.headers["x-should-retry"] == "false"
    if client in (*OPENAIS, "messages"):
        assert code_of(client, answer) == "upstream_authentication"


@pytest.mark.parametrize("key", [None, "wrong"])
@pytest.mark.parametrize("client", [*SURFACES, *BESIDE])
def test_a_wrong_key_and_none_are_told_in_the_dialects_envelope(
    stage: Stage, client: str, key: str | None
) -> None:
    headers = {"x-api-key": "lk-wrong"} if key else {}

    answer = asked(stage, client, "openai_chat", "whole", key=None, headers=headers)

    assert answer.status == 401
    assert "API key" in message_of(client, answer)
    assert stage.upstream.asked == []
    if client in OPENAIS:
        assert answer.json["error"]["type"] == "invalid_request_error"
    if client == "messages":
        assert answer.json["error"]["type"] == "authentication_error"
    if client in (*OPENAIS, "messages"):
        assert code_of(client, answer) == ("invalid_api_key" if key else "missing_api_key")


@pytest.mark.gateway(ONCE)
@EVERYWHERE
@pytest.mark.parametrize("page", ["<html><body>Bad Gateway</body></html>", "", "no JSON {"])
def test_a_page_that_is_no_answer_is_told_in_the_envelope(
    stage: Stage, client: str, upstream: str, streamed: str, page: str
) -> None:
    stage.upstream.plays(
        script.raw(page.encode(), status=502, headers={"content-type": "text/html"})
    )

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 502
    assert message_of(client, answer)
    assert "<html" not in str(answer.json)


@pytest.mark.gateway(IMPATIENT)
@EVERYWHERE
@pytest.mark.parametrize(("how", "status"), [("reset", 502), ("silence", 504)])
def test_a_provider_that_is_gone_or_silent_is_told_in_the_envelope(  # noqa: PLR0913 - a grid
    stage: Stage, client: str, upstream: str, streamed: str, how: str, status: int
) -> None:
    hello = said_hello(upstream, streamed)
    stage.upstream.plays(script.sse(end="reset") if how == "reset" else hello.later(NEVER_S))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == status
    assert message_of(client, answer)


@pytest.mark.parametrize("client", [*SURFACES, *BESIDE])
@pytest.mark.parametrize("body", [b"{", b"[]", b'{"model": 7}', b'{"model": "oa-model"'])
def test_a_body_that_is_none_is_told_in_the_envelope(
    stage: Stage, client: str, body: bytes
) -> None:
    answer = stage.post((SURFACES.get(client) or BESIDE[client])[0], body)

    assert answer.status == 400
    assert message_of(client, answer)


@pytest.mark.parametrize("client", [*SURFACES, *BESIDE])
def test_a_model_that_there_is_not_is_told_in_the_envelope(stage: Stage, client: str) -> None:
    answer = asked(stage, client, "openai_chat", "whole", model="no-such-model")

    assert answer.status == 404
    assert "no-such-model" in message_of(client, answer)
    if client in (*OPENAIS, "messages"):
        assert code_of(client, answer) == "model_not_found"


@pytest.mark.parametrize("client", SURFACES)
@pytest.mark.parametrize(
    "kind", [None, "application/json; charset=utf-8", "text/plain", "application/JSON"]
)
def test_a_body_is_read_whatever_it_is_called(stage: Stage, client: str, kind: str | None) -> None:
    stage.upstream.plays(said_hello("openai_chat", "whole"))
    headers = {} if kind is None else {"content-type": kind}

    assert asked(stage, client, "openai_chat", "whole", headers=headers).status == 200


def test_each_dialect_is_here() -> None:
    """So that a new one is not forgotten."""
    conversed = {path for path, dialect in DIALECTS.items() if dialect.name in spoken.DIALECTS}

    assert {path for path, _ in SURFACES.values()} == conversed
    assert {path for path, _ in BESIDE.values()} == DIALECTS.keys() - conversed
    assert set(MODELS) == set(provider.load(providers))
