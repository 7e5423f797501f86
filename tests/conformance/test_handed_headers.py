"""What of a provider's headers its client is handed, under which names, whole and streamed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from techniques.core.json import Json
from tests.conformance.dialects import (
    BESIDE,
    EVERYWHERE,
    GRID,
    MODELS,
    SURFACES,
    asked,
    message_of,
    refusal,
    said_hello,
)
from tests.conformance.stage import Stage
from tests.fakes import script
from tests.fakes.gateway import UPSTREAM_KEYS, hashed
from tests.patience import SOON_S

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


def own_limits(client: str) -> dict[str, str]:
    """Return the same limits in the words of *client*."""
    return ANTHROPIC if client == "messages" else OPENAI


def limits(upstream: str) -> dict[str, str]:
    """Return the limits as *upstream* words them."""
    if upstream != "anthropic":
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


@EVERYWHERE
def test_limits_have_their_own_names_and_the_callers(
    stage: Stage, client: str, upstream: str, streamed: str
) -> None:
    told = limits(upstream)
    stage.upstream.plays(said_hello(upstream, streamed, told))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 200
    assert {name: answer.headers.get(name) for name in told} == told
    expected = own_limits(client)
    for name, value in expected.items():
        if "reset" in name:
            assert -SOON_S <= seconds(answer.headers[name]) - seconds(value) <= 1.5
        else:
            assert answer.headers[name] == value


@pytest.mark.gateway({"upstream": {"retries": 0}})
@EVERYWHERE
def test_a_refusal_hands_on_limits_and_the_wait(
    stage: Stage, client: str, upstream: str, streamed: str
) -> None:
    told = {**limits(upstream), "retry-after": "7", "retry-after-ms": "6500"}
    stage.upstream.plays(refusal(upstream, 429, "rate_limit_error", headers=told))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 429
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["retry-after-ms"] == "6500"
    expected = own_limits(client)
    for name, value in expected.items():
        if "reset" not in name:
            assert answer.headers[name] == value
    assert message_of(client, answer) == "Words of the provider."


@pytest.mark.gateway({"upstream": {"retries": 0}})
@EVERYWHERE
def test_a_refusal_without_a_wait_has_the_one_that_its_limits_tell(
    stage: Stage, client: str, upstream: str, streamed: str
) -> None:
    told = limits(upstream)
    full = "x-ratelimit-remaining-tokens"
    if upstream == "anthropic":
        full = "anthropic-ratelimit-input-tokens-remaining"
    told[full] = "0"
    stage.upstream.plays(refusal(upstream, 429, "rate_limit_error", headers=told))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 429
    assert 350 <= int(answer.headers["retry-after"]) <= 361
    assert 350_000 <= int(answer.headers["retry-after-ms"]) <= 361_000
    assert answer.headers["x-should-retry"] == "false"  # no SDK waits for so long


@pytest.mark.gateway({"upstream": {"retries": 0}})
@pytest.mark.parametrize("client", BESIDE)
@pytest.mark.parametrize("status", [200, 429])
def test_limits_beside_conversations_are_handed_on(stage: Stage, client: str, status: int) -> None:
    rows: dict[str, list[Json]] = {
        "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
        "choices": [{"index": 0, "text": "Hello", "finish_reason": "stop"}],
    }
    used = script.counts(2, 0)
    served = script.body({"id": "1", "model": "real-oa", **rows, "usage": used}, headers=OPENAI)
    refused = refusal("openai_chat", 429, "rate_limit_error", headers=OPENAI)
    stage.upstream.plays(served if status == 200 else refused)

    answer = asked(stage, client, "openai_chat", "whole")

    assert answer.status == status
    assert {name: answer.headers.get(name) for name in OPENAI} == OPENAI


@pytest.mark.gateway({"upstream": {"retries": 0}})
@pytest.mark.parametrize("said", ["true", "false"])
@EVERYWHERE
def test_whether_to_try_again_is_handed_on(
    stage: Stage, client: str, upstream: str, streamed: str, said: str
) -> None:
    headers = {"x-should-retry": said, "request-id": "req_up-1", "openai-processing-ms": "12"}
    stage.upstream.plays(refusal(upstream, 500, "api_error", headers=headers))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 502
    assert answer.headers["x-should-retry"] == said
    assert answer.headers["x-lockgate-upstream-request-id"] == "req_up-1"
    assert answer.headers["openai-processing-ms"] == "12"
    if client == "messages":
        assert answer.json["request_id"] == answer.headers["request-id"] == answer.request_id
    else:
        assert answer.headers["x-request-id"] == answer.request_id


@EVERYWHERE
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
    stage.upstream.plays(said_hello(upstream, streamed, private))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 200
    assert not [value for value in answer.headers.values() if "priv" in value]


@pytest.mark.parametrize("client", SURFACES)
def test_what_its_limits_tell_of_is_no_secret_of_the_account(stage: Stage, client: str) -> None:
    """SEC-05: an upstream that repeats its key in a header of limits, or as a name of the call."""
    key = UPSTREAM_KEYS["oa"]
    stage.upstream.plays(
        said_hello("openai_chat", "whole", {"x-ratelimit-policy": f"of {key}", "x-request-id": key})
    )

    answer = asked(stage, client, "openai_chat", "whole")

    assert key not in str(answer.headers)
    assert answer.headers["x-ratelimit-policy"] == "of ***"
    assert "x-lockgate-upstream-request-id" not in answer.headers


FEW = {f"few-{at}": f"lk-few-canary-{at}" for at in range(len(GRID))}
OWN = {"keys": [{"name": name, "hash": hashed(key), "rpm": 1} for name, key in FEW.items()]}


@pytest.mark.gateway(OWN)
@pytest.mark.parametrize("at", range(len(GRID)))
def test_a_keys_own_limits_stand_before_its_accounts(stage: Stage, at: int) -> None:
    client, upstream, streamed = map(str, GRID[at].values)
    stage.upstream.plays(said_hello(upstream, streamed, limits(upstream)))
    key = {"authorization": f"Bearer {FEW[f'few-{at}']}"}

    served, refused = (
        asked(stage, client, upstream, streamed, key=None, headers=key) for _ in range(2)
    )

    limit, remaining, reset = list(own_limits(client))[:3]
    for answer in (served, refused):
        assert answer.headers[limit] == "1"
        assert answer.headers[remaining] == "0"
        assert 50 <= seconds(answer.headers[reset]) <= 60
    assert served.headers[list(own_limits(client))[3]] == "150000"
    assert (served.status, refused.status) == (200, 429)
    assert 50 <= int(refused.headers["retry-after"]) <= 60
    assert refused.headers["retry-after-ms"]


PACED = {
    "pacing": {"mode": "on", "patience": {"stream_s": 0, "json_s": 0}},
    "providers": {name: {"limits": {"rpm": 1}} for name in ("oa", "an", "rs")},
}


@pytest.mark.parametrize("client", SURFACES)
@pytest.mark.parametrize("upstream", MODELS)
@pytest.mark.gateway(PACED, fresh=True)
def test_a_limit_that_is_foreseen_is_told_like_the_providers(
    stage: Stage, client: str, upstream: str
) -> None:
    stage.upstream.plays(said_hello(upstream, "whole"))
    asked(stage, client, upstream, "whole")

    refused = asked(stage, client, upstream, "whole")

    assert refused.status == 429
    assert len(stage.upstream.asked) == 1
    limit, remaining, reset = list(own_limits(client))[:3]
    assert refused.headers[limit] == "1"
    assert refused.headers[remaining] == "0"
    assert seconds(refused.headers[reset]) > 1
    assert refused.headers["retry-after"]
    assert refused.headers["retry-after-ms"]
