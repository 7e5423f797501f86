"""What of a provider's headers its client is handed, under which names, whole and streamed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from techniques.core.json import Json
from tests.conformance.stage import CHAT, MESSAGES, Stage, chat, messages
from tests.fakes import script
from tests.fakes.client import Reply
from tests.fakes.gateway import UPSTREAM_KEYS, hashed
from tests.fakes.script import Answer

MODELS = {"openai": "oa-model", "anthropic": "an-model"}
SURFACES = {"openai": CHAT, "anthropic": MESSAGES}
OPENAI = {
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-remaining-requests": "59",
    "x-ratelimit-reset-requests": "1s",
    "x-ratelimit-limit-tokens": "150000",
    "x-ratelimit-remaining-tokens": "149984",
    "x-ratelimit-reset-tokens": "6m0s",
}
ANTHROPIC = {
    "anthropic-ratelimit-requests-limit": "60",
    "anthropic-ratelimit-requests-remaining": "59",
    "anthropic-ratelimit-requests-reset": "1s",
    "anthropic-ratelimit-tokens-limit": "150000",
    "anthropic-ratelimit-tokens-remaining": "149984",
    "anthropic-ratelimit-tokens-reset": "6m0s",
}
ANTHROPIC_SPLIT = {
    "anthropic-ratelimit-input-tokens-limit": "50000",
    "anthropic-ratelimit-input-tokens-remaining": "41000",
    "anthropic-ratelimit-input-tokens-reset": "6m0s",
}
GRID = [
    pytest.param(client, upstream, streamed, id=f"{client}-{upstream}-{streamed}")
    for client in SURFACES
    for upstream in MODELS
    for streamed in ("whole", "streamed")
]


def played(upstream: str, streamed: str, headers: Mapping[str, str]) -> Answer:
    """Return a short answer of *upstream* with *headers*."""
    if streamed == "whole":
        answer = script.completion() if upstream == "openai" else script.message()
    elif upstream == "openai":
        answer = script.told("Hello")
    else:
        parts = script.message_start(), script.text_block("Hello"), script.message_end()
        answer = script.sse(*parts)
    return Answer(answer.writes, headers={**answer.headers, **headers}, framing=answer.framing)


def asked(stage: Stage, client: str, upstream: str, streamed: str) -> Reply:
    """Ask *upstream* as *client* does, and return the whole answer."""
    body = chat if client == "openai" else messages
    fields: dict[str, Json] = {"model": MODELS[upstream], "stream": streamed == "streamed"}
    return stage.post(SURFACES[client], body(**fields))


def limits(upstream: str) -> dict[str, str]:
    """Return the limits as *upstream* words them."""
    if upstream == "openai":
        return dict(OPENAI)
    now = datetime.now(UTC)
    soon, later = now + timedelta(seconds=1), now + timedelta(minutes=6)
    times = {"1s": f"{soon:%Y-%m-%dT%H:%M:%SZ}", "6m0s": f"{later:%Y-%m-%dT%H:%M:%SZ}"}
    told = {**ANTHROPIC, **ANTHROPIC_SPLIT}
    return {name: times.get(value, value) for name, value in told.items()}


def seconds(reset: str) -> float:
    """Return how far away *reset* is, in either vendor's words."""
    if reset[4:5] == "-":
        return (datetime.fromisoformat(reset) - datetime.now(UTC)).total_seconds()
    if reset.endswith("ms"):
        return float(reset[:-2]) / 1000
    minutes, _, rest = reset.rpartition("m")
    return 60 * float(minutes or 0) + float(rest.rstrip("s"))


@pytest.mark.parametrize(("client", "upstream", "streamed"), GRID)
def test_limits_have_their_own_names_and_the_callers(
    stage: Stage, client: str, upstream: str, streamed: str
) -> None:
    told = limits(upstream)
    stage.upstream.plays(played(upstream, streamed, told))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 200
    assert {name: answer.headers.get(name) for name in told} == told
    expected = OPENAI if client == "openai" else ANTHROPIC
    for name, value in expected.items():
        if "reset" in name:
            assert seconds(answer.headers[name]) == pytest.approx(seconds(value), abs=1.5)
        else:
            assert answer.headers[name] == value


@pytest.mark.gateway({"upstream": {"retries": 0}})
@pytest.mark.parametrize(("client", "upstream", "streamed"), GRID)
def test_a_refusal_hands_on_limits_and_the_wait(
    stage: Stage, client: str, upstream: str, streamed: str
) -> None:
    told = {**limits(upstream), "retry-after": "7", "retry-after-ms": "6500"}
    stage.upstream.plays(refusal(upstream, 429, "rate_limit_error", told))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 429
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["retry-after-ms"] == "6500"
    expected = OPENAI if client == "openai" else ANTHROPIC
    for name, value in expected.items():
        if "reset" not in name:
            assert answer.headers[name] == value
    assert answer.json["error"]["type"] == "rate_limit_error"


@pytest.mark.gateway({"upstream": {"retries": 0}})
@pytest.mark.parametrize(("client", "upstream", "streamed"), GRID)
def test_a_refusal_without_a_wait_has_the_one_that_its_limits_tell(
    stage: Stage, client: str, upstream: str, streamed: str
) -> None:
    told = limits(upstream)
    full = "x-ratelimit-remaining-tokens"
    if upstream == "anthropic":
        full = "anthropic-ratelimit-input-tokens-remaining"
    told[full] = "0"
    stage.upstream.plays(refusal(upstream, 429, "rate_limit_error", told))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 429
    assert 350 <= int(answer.headers["retry-after"]) <= 361
    assert 350_000 <= int(answer.headers["retry-after-ms"]) <= 361_000
    assert answer.headers["x-should-retry"] == "false"  # no SDK waits for so long


def refusal(upstream: str, status: int, kind: str, headers: Mapping[str, str]) -> Answer:
    """Return an error as *upstream* words it."""
    if upstream == "openai":
        return script.error(status, "Words of the provider.", kind, headers=headers)
    error = {"type": "error", "error": {"type": kind, "message": "Words of the provider."}}
    return script.body(error, status=status, headers=headers)


@pytest.mark.gateway({"upstream": {"retries": 0}})
@pytest.mark.parametrize("said", ["true", "false"])
@pytest.mark.parametrize(("client", "upstream", "streamed"), GRID)
def test_whether_to_try_again_is_handed_on(
    stage: Stage, client: str, upstream: str, streamed: str, said: str
) -> None:
    headers = {"x-should-retry": said, "request-id": "req_up-1", "openai-processing-ms": "12"}
    stage.upstream.plays(refusal(upstream, 500, "api_error", headers))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 502
    assert answer.headers["x-should-retry"] == said
    assert answer.headers["x-lockgate-upstream-request-id"] == "req_up-1"
    assert answer.headers["openai-processing-ms"] == "12"
    if client == "anthropic":
        assert answer.json["request_id"] == answer.headers["request-id"] == answer.request_id
    else:
        assert answer.headers["x-request-id"] == answer.request_id


@pytest.mark.parametrize(("client", "upstream", "streamed"), GRID)
def test_nothing_else_of_a_provider_is_handed_on(
    stage: Stage, client: str, upstream: str, streamed: str
) -> None:
    private = {
        "openai-organization": "org-private",
        "anthropic-organization-id": "org-private",
        "set-cookie": "session=private",
        "cf-ray": "private",
        "x-envoy-upstream": "private",
        "x-ratelimit-note": "priv\u00e4t",
        "x-ratelimit-long": "private" * 100,
    }
    stage.upstream.plays(played(upstream, streamed, private))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 200
    assert not [value for value in answer.headers.values() if "priv" in value]


@pytest.mark.parametrize("client", SURFACES)
def test_what_its_limits_tell_of_is_no_secret_of_the_account(stage: Stage, client: str) -> None:
    """SEC-05: an upstream that repeats its key in a header of limits, or as a name of the call."""
    key = UPSTREAM_KEYS["oa"]
    stage.upstream.plays(
        played("openai", "whole", {"x-ratelimit-policy": f"of {key}", "x-request-id": key})
    )

    answer = asked(stage, client, "openai", "whole")

    assert key not in str(answer.headers)
    assert answer.headers["x-ratelimit-policy"] == "of ***"
    assert "x-lockgate-upstream-request-id" not in answer.headers


FEW = {f"few-{at}": f"lk-few-canary-{at}" for at in range(len(GRID))}
OWN = {"keys": [{"name": name, "hash": hashed(key), "rpm": 1} for name, key in FEW.items()]}


@pytest.mark.gateway(OWN)
@pytest.mark.parametrize("at", range(len(GRID)))
def test_a_keys_own_limits_stand_before_its_accounts(stage: Stage, at: int) -> None:
    client, upstream, streamed = map(str, GRID[at].values)
    stage.upstream.plays(played(upstream, streamed, limits(upstream)))
    body = chat if client == "openai" else messages
    fields: dict[str, Json] = {"model": MODELS[upstream], "stream": streamed == "streamed"}
    key = {"authorization": f"Bearer {FEW[f'few-{at}']}"}

    served, refused = (
        stage.post(SURFACES[client], body(**fields), key=None, headers=key) for _ in range(2)
    )

    names = {"openai": "x-ratelimit-{}-requests", "anthropic": "anthropic-ratelimit-requests-{}"}
    for answer in (served, refused):
        assert answer.headers[names[client].format("limit")] == "1"
        assert answer.headers[names[client].format("remaining")] == "0"
        assert 50 <= seconds(answer.headers[names[client].format("reset")]) <= 60
    tokens = {"openai": "x-ratelimit-limit-tokens", "anthropic": "anthropic-ratelimit-tokens-limit"}
    assert served.headers[tokens[client]] == "150000"
    assert (served.status, refused.status) == (200, 429)
    assert 50 <= int(refused.headers["retry-after"]) <= 60
    assert refused.headers["retry-after-ms"]


PACED = {
    "pacing": {"mode": "on", "patience": {"stream_s": 0, "json_s": 0}},
    "providers": {"oa": {"limits": {"rpm": 1}}, "an": {"limits": {"rpm": 1}}},
}


@pytest.mark.parametrize("client", SURFACES)
@pytest.mark.parametrize("upstream", MODELS)
@pytest.mark.gateway(PACED, fresh=True)
def test_a_limit_that_is_foreseen_is_told_like_the_providers(
    stage: Stage, client: str, upstream: str
) -> None:
    stage.upstream.plays(played(upstream, "whole", {}))
    asked(stage, client, upstream, "whole")

    refused = asked(stage, client, upstream, "whole")

    assert refused.status == 429
    assert len(stage.upstream.asked) == 1
    names = {"openai": "x-ratelimit-{}-requests", "anthropic": "anthropic-ratelimit-requests-{}"}
    assert refused.headers[names[client].format("limit")] == "1"
    assert refused.headers[names[client].format("remaining")] == "0"
    assert seconds(refused.headers[names[client].format("reset")]) > 1
    assert refused.headers["retry-after"]
    assert refused.headers["retry-after-ms"]
