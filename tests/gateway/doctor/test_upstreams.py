"""What is told of providers: reached, understood, willing, of the right time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from gateway.doctor.case import Case
from gateway.doctor.finding import Finding
from gateway.doctor.upstreams import upstream
from techniques.core.json import Json
from tests.fakes.script import Answer, body, raw
from tests.fakes.upstream import ScriptedUpstream, dead_port
from tests.gateway.doctor.scene import bad, case, looked, silent

OPENAI: Json = {"object": "list", "data": [{"id": "gpt-x", "object": "model"}, {"id": "gpt-y"}]}
ANTHROPIC: Json = {"data": [{"type": "model", "id": "claude-x"}], "has_more": True}


@pytest.fixture
def provider() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as server:
        yield server


def about(port: int, model: str = "gpt-x", limits: Json = None, **row: Json) -> Case:
    return case(
        providers={
            "p": {
                "dialect": "openai_chat",
                "base_url": f"http://127.0.0.1:{port}/v1",
                "api_key": "sk-canary-key",
                "allow_private": True,
                "limits": limits or {},
                **row,
            }
        },
        models=[{"name": "m", "provider": "p", "model": model}],
        within_s=2.0,
    )


def found(provider: ScriptedUpstream, answer: Answer, **row: Json) -> list[Finding]:
    provider.plays(answer)
    return looked(upstream("p"), about(provider.port, **row))


def answering(value: Json, **headers: str) -> Answer:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return body(value, headers={"content-type": "application/json", **named})


def test_a_provider_that_takes_the_key_and_has_the_model_is_well(
    provider: ScriptedUpstream,
) -> None:
    told = found(provider, answering(OPENAI), limits={"rpm": 5})

    assert bad(told) == []
    assert "takes the key" in told[0].what
    assert "2 models" in told[0].what
    (asked,) = provider.asked
    assert (asked.method, asked.path) == ("GET", "/v1/models")
    assert asked.header("authorization") == "Bearer sk-canary-key"


def test_one_that_speaks_the_responses_api_is_asked_as_one_of_chat_completions(
    provider: ScriptedUpstream,
) -> None:
    told = found(provider, answering(OPENAI), dialect="openai_responses", limits={"rpm": 5})

    assert bad(told) == []
    assert [asked.path for asked in provider.asked] == ["/v1/models"]


def test_of_one_that_wants_no_key_none_is_said_to_be_taken(provider: ScriptedUpstream) -> None:
    told = found(provider, answering(OPENAI), limits={"rpm": 5}, api_key=None)

    assert bad(told) == []
    assert " answers, " in told[0].what
    assert "key" not in told[0].what


@pytest.mark.parametrize("written", ["${NOT_SET_ANYWHERE}", "file:/nowhere/key"])
def test_one_whose_key_could_not_be_read_is_sent_nothing(
    provider: ScriptedUpstream, written: str
) -> None:
    told = looked(upstream("p"), about(provider.port, api_key=written))

    assert [(it.level, "providers.p.api_key is not there" in it.what) for it in told] == [
        ("skipped", True)
    ]
    assert provider.asked == []


def test_one_of_the_other_dialect_is_asked_in_its_own_words(provider: ScriptedUpstream) -> None:
    root = f"http://127.0.0.1:{provider.port}"
    told = found(provider, answering(ANTHROPIC), dialect="anthropic", base_url=root)

    assert bad(told) == []  # the list goes on, so the model may be there
    (asked,) = provider.asked
    assert asked.path == "/v1/models?limit=1000"
    assert asked.header("x-api-key") == "sk-canary-key"
    assert asked.header("anthropic-version")


@pytest.mark.parametrize(
    ("answer", "level", "said"),
    [
        (
            body({"error": {"message": "sk-canary-key is wrong"}}, status=401),
            "error",
            "take the key",
        ),
        (body({}, status=403), "error", "does not take the key (403)"),
        (body({}, status=404), "warning", "lists no models (404)"),
        (body({}, status=429), "warning", "rate limit is used up"),
        (body({}, status=500), "error", "answers 500"),
        (raw(b"<html>Sign in</html>"), "error", "not with a list of models"),
        (body({"models": []}), "error", "not with a list of models"),
        (body({"data": "none"}), "error", "not with a list of models"),
        (body({"data": [{"id": "other"}]}), "warning", "does not list 'gpt-x'"),
    ],
)
def test_what_is_wrong_is_told_with_what_mends_it(
    provider: ScriptedUpstream, answer: Answer, level: str, said: str
) -> None:
    told = found(provider, answer, limits={"rpm": 5})

    ((how, what),) = bad(told)
    assert how == level
    assert said in what
    assert "canary" not in repr(told)


def test_a_model_that_stands_for_many_is_not_looked_for(provider: ScriptedUpstream) -> None:
    provider.plays(answering(OPENAI))
    stars = about(provider.port)
    stars = case(
        providers={"p": stars.config.providers["p"].model_dump()},
        models=[{"name": "gpt-*", "provider": "p"}],
    )

    assert bad(looked(upstream("p"), stars)) == []


def test_a_clock_that_is_off_is_told(provider: ScriptedUpstream) -> None:
    late = format_datetime(datetime.now(UTC) - timedelta(minutes=5), usegmt=True)
    told = found(provider, answering(OPENAI, date=late), limits={"rpm": 5})

    ((level, what),) = bad(told)
    assert level == "warning"
    assert "differ by -3" in what or "differ by -29" in what


@pytest.mark.parametrize("date", ["yesterday", ""])
def test_a_date_that_is_none_is_passed_over(provider: ScriptedUpstream, date: str) -> None:
    assert bad(found(provider, answering(OPENAI, date=date), limits={"rpm": 5})) == []


def limited(remaining: str) -> Mapping[str, str]:
    return {
        "x_ratelimit_limit_requests": "100",
        "x_ratelimit_remaining_requests": remaining,
        "x_ratelimit_reset_requests": "1s",
    }


def test_limits_that_it_tells_are_read_and_those_that_cannot_be_are_named(
    provider: ScriptedUpstream,
) -> None:
    well = found(provider, answering(OPENAI, **limited("99")), vendor="openai")
    ill = found(provider, answering(OPENAI, **limited("plenty")), vendor="openai")

    assert bad(well) == []
    assert any("limits are read from its answers (openai): requests" in it.what for it in well)
    assert [level for level, what in bad(ill) if "x-ratelimit-remaining-requests" in what] == [
        "warning"
    ]


def test_one_that_is_not_there_and_one_that_says_nothing_are_told_in_time() -> None:
    held, dead = dead_port()
    with held, silent() as port:
        gone = looked(upstream("p"), about(dead))
        mute = looked(upstream("p"), about(port))

    ((level, what),) = bad(gone)
    assert (level, "No connection" in what) == ("error", True)
    assert [level for level, _ in bad(mute)] == ["error"]


def test_a_private_address_is_told_to_be_one() -> None:
    told = looked(
        upstream("p"), about(1, base_url="http://localhost:1/v1", allow_private=False, api_key=None)
    )

    ((_, what),) = bad(told)
    assert "private address" in what
    assert told[-1].fix == "providers.p.allow_private: true, if you mean it"


def test_a_way_that_a_proxy_does_not_open_is_not_looked_for_at_the_provider() -> None:
    held, dead = dead_port()
    with held:
        row = about(
            1,
            base_url="https://a.example/v1",
            allow_private=False,
            proxy=f"http://127.0.0.1:{dead}",
        )
        told = looked(upstream("p"), row)

    ((level, what),) = bad(told)
    assert (level, "proxy" in what) == ("error", True)
    assert "curl -v -x PROXY https://a.example/v1: upstream.proxy" in told[-1].fix


def test_a_key_that_goes_in_the_open_is_warned_of() -> None:
    row = about(1, base_url="http://a.example/v1", allow_private=False)
    (told, *_) = looked(upstream("p"), row)

    assert (told.level, "is not encrypted" in told.what) == ("warning", True)


def test_offline_nobody_is_asked(provider: ScriptedUpstream) -> None:
    row = about(provider.port).config.providers["p"].model_dump()
    offline = case(providers={"p": row}, models=[{"name": "m", "provider": "p"}], offline=True)

    assert [it.level for it in looked(upstream("p"), offline)] == ["skipped"]
    assert provider.asked == []


def test_a_simulation_is_well() -> None:
    assert [it.level for it in looked(upstream("p"), case())] == ["ok"]
