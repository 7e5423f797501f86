"""What the official SDKs see of calls that are held, given back, or refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import anthropic
import openai
import pytest

from techniques.core.json import Json
from tests.conformance.stage import CHAT, MESSAGES, chat, messages, summed
from tests.fakes.client import Exchange, dial, request
from tests.fakes.gateway import KEYS, Gateway, hashed, settings
from tests.fakes.script import Answer, completion, dumps, error, told
from tests.fakes.upstream import Asked, ScriptedUpstream, dead_port
from tests.patience import PATIENCE_S, SOON_S, eventually

SAID: list[Json] = [{"role": "user", "content": "hello"}]
MINUTES_S = {"short": 2.0, "middle": 8.0, "half": 30.0, "long": 100.0}
LIMITED_KEY = "lk-limited-4e1b"
STREAM: dict[str, Json] = {"stream": True}
BODIES = {CHAT: chat, MESSAGES: messages}
ACCOUNTS = 32
"""Accounts of each kind, so that no test finds a minute that another has used up."""


def _changes(port: int, **pacing: Json) -> dict[str, Json]:
    """Return a configuration with accounts that take a call in each of their own minutes."""
    providers: dict[str, Json] = {}
    for kind, minute_s in MINUTES_S.items():
        for number in range(ACCOUNTS):
            providers[f"{kind}{number}"] = {
                "dialect": "openai_chat",
                "base_url": f"http://127.0.0.1:{port}/v1",
                "api_key": "${OA_KEY}",
                "limits": {"rpm": 1, "minute_s": minute_s},
            }
    providers["shared"] = {**providers["short0"], "limits": {"rpm": 40}}
    providers["alone"] = {**providers["short0"], "limits": {"concurrency": 1}}
    providers["narrow"] = {**providers["short0"], "limits": {"rpm": 3, "minute_s": 1.0}}
    providers["timed"] = {**providers["short0"], "limits": {}}
    models: list[Json] = [{"name": f"m-{name}", "provider": name} for name in providers]
    return {
        "pacing": {"mode": "on", "patience": {"stream_s": 50, "json_s": 50}, **pacing},
        "upstream": {"retries": 0},
        "providers": providers,
        "models": models,
        "keys": [{"name": "limited", "hash": hashed(LIMITED_KEY), "rpm": 600, "tpm": 100_000}],
    }


@dataclass(slots=True)
class Paced:
    """A gateway whose accounts are soon used up."""

    upstream: ScriptedUpstream
    gateway: Gateway
    _unused: dict[str, Iterator[int]] = field(
        default_factory=lambda: {kind: iter(range(ACCOUNTS)) for kind in MINUTES_S}
    )

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.gateway.port}"

    def chat(self, **more: Json) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.root}/v1", api_key=KEYS["k1"], **more)

    def messages(self, **more: Json) -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=self.root, api_key=KEYS["k1"], **more)

    def used_up(self, kind: str) -> str:
        """Return a model whose account has just taken the only call of its minute."""
        model = f"m-{kind}{next(self._unused[kind])}"
        self.upstream.plays(completion("first"))
        assert self.post(model).status == 200
        self.upstream.forget()
        return model

    def open(self, model: str, path: str = CHAT, *, key: str = "k1", **fields: Json) -> Exchange:
        return Exchange(self.gateway.port, self.raw(model, path, key=key, **fields))

    def raw(self, model: str, path: str = CHAT, *, key: str = "k1", **fields: Json) -> bytes:
        body = BODIES[path](model=model, **fields)
        return request(path, dumps(body), {"authorization": f"Bearer {KEYS[key]}"})

    def post(self, model: str, *, key: str = "k1", **fields: Json) -> Json:
        return self.open(model, key=key, **fields).whole()

    def page(self) -> list[str]:
        return self.gateway.get("/metrics").body.decode().splitlines()

    def total(self, name: str, **labels: str) -> float:
        return summed(self.page(), name, **labels)


def _paced(folders: pytest.TempPathFactory, **pacing: Json) -> Iterator[Paced]:
    held, dead = dead_port()
    with held, ScriptedUpstream() as upstream:
        changes = _changes(upstream.port, **pacing)
        for provider in changes["providers"].values():
            provider["allow_private"] = True
        config = settings(upstream.port, dead, changes)
        with Gateway(folders.mktemp("gateway"), config) as gateway:
            yield Paced(upstream, gateway)


@pytest.fixture(scope="module")
def _on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Paced]:
    yield from _paced(tmp_path_factory)


@pytest.fixture
def paced(_on: Paced) -> Paced:
    _on.upstream.forget()
    return _on


Ask = Callable[[Paced, str], str]


T = TypeVar("T")


def held(paced: Paced, answer: Answer, ask: Callable[[str], T]) -> T:
    """Return what came of *ask* of a model that had none left, answered by *answer* in the end.

    Where so much time went by that there was one again, another is asked.
    """
    for _ in range(8):
        model = paced.used_up("short")
        paced.upstream.plays(answer)
        got = ask(model)
        if paced.total("lockgate_pauses_total", model=model):
            return got
    raise AssertionError("Nothing is held.")


def by_openai(paced: Paced, model: str) -> str:
    with paced.chat(max_retries=0) as client:
        stream = client.chat.completions.create(model=model, messages=SAID, stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def by_anthropic(paced: Paced, model: str) -> str:
    with (
        paced.messages(max_retries=0) as client,
        client.messages.stream(model=model, messages=SAID, max_tokens=64) as stream,
    ):
        return "".join(stream.text_stream)


@pytest.mark.parametrize("ask", [by_openai, by_anthropic])
def test_a_stream_that_was_held_is_read_whole(paced: Paced, ask: Ask) -> None:
    assert held(paced, told("Hel", "lo"), partial(ask, paced)) == "Hello"


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_held_stream_says_so_long_before_it_begins(paced: Paced, path: str) -> None:
    model = paced.used_up("half")

    with paced.open(model, path, stream=True) as exchange:
        said = next(event for event in exchange.events() if event.comments)

    assert said.comments[0].startswith('lockgate {"state":"held"')
    assert said.at - exchange.started < SOON_S
    assert exchange.headers["x-lockgate-pause-reason"] == "requests"
    assert paced.upstream.asked == []


@pytest.mark.parametrize(
    ("ask", "failure"),
    [(by_openai, openai.APIError), (by_anthropic, anthropic.APIStatusError)],
)
def test_a_failure_after_a_hold_raises(paced: Paced, ask: Ask, failure: type[Exception]) -> None:
    def asked(model: str) -> None:
        with pytest.raises(failure, match="it broke"):
            ask(paced, model)

    held(paced, error(500, "it broke"), asked)


@pytest.mark.parametrize("wish", [STREAM, {}])
def test_who_leaves_while_held_leaves_the_line_and_is_not_sent(paced: Paced, wish: Json) -> None:
    model = paced.used_up("middle")
    paced.upstream.plays(completion("later"))
    name = "lockgate_requests_total"
    before = paced.total(name, outcome="client_disconnect")

    line = dial(paced.gateway.port, paced.raw(model, **wish))
    assert eventually(lambda: paced.total("lockgate_requests_in_flight") == 1)
    line.close()
    left = eventually(lambda: paced.total(name, outcome="client_disconnect") == before + 1)
    answer = paced.post(model)

    assert left
    assert answer.status == 200
    assert answer.json["choices"][0]["message"]["content"] == "later"
    assert len(paced.upstream.asked) == 1


@pytest.mark.parametrize("surface", ["openai", "anthropic"])
def test_a_call_held_beyond_patience_is_tried_again_by_the_sdk_and_served(
    paced: Paced, surface: str
) -> None:
    model = paced.used_up("middle")
    paced.upstream.plays(completion("served"))
    headers = {"x-lockgate-max-wait-ms": "300"}
    before = paced.total("lockgate_requests_total", outcome="held_back")

    if surface == "openai":
        with paced.chat(max_retries=2, default_headers=headers) as client:
            said = client.chat.completions.create(model=model, messages=SAID)
            text = said.choices[0].message.content
    else:
        with paced.messages(max_retries=2, default_headers=headers) as client:
            answer = client.messages.create(model=model, messages=SAID, max_tokens=64)
            text = answer.content[0].text  # type: ignore[union-attr]

    assert text == "served"
    assert len(paced.upstream.asked) == 1
    assert 1 <= paced.total("lockgate_requests_total", outcome="held_back") - before <= 2


def test_what_is_told_of_a_call_that_may_come_again(paced: Paced) -> None:
    model = paced.used_up("half")
    asked = chat(model=model)
    headers = {"authorization": f"Bearer {KEYS['k1']}", "x-lockgate-max-wait-ms": "300"}

    answer = Exchange(paced.gateway.port, request(CHAT, dumps(asked), headers)).whole()

    assert answer.status == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 30
    assert answer.headers["x-should-retry"] == "true"
    assert answer.json["error"]["code"] == "rate_limited_upstream"


@pytest.mark.parametrize("surface", ["openai", "anthropic"])
def test_who_would_wait_for_more_than_a_minute_asks_once(paced: Paced, surface: str) -> None:
    model = paced.used_up("long")
    assert eventually(lambda: paced.total("lockgate_requests_in_flight") == 0)  # it is counted
    before = paced.total("lockgate_requests_total")
    failure: openai.RateLimitError | anthropic.RateLimitError

    if surface == "openai":
        with paced.chat(max_retries=3) as client, pytest.raises(openai.RateLimitError) as raised:
            client.chat.completions.create(model=model, messages=SAID)
        failure = raised.value
    else:
        with (
            paced.messages(max_retries=3) as other,
            pytest.raises(anthropic.RateLimitError) as caught,
        ):
            other.messages.create(model=model, messages=SAID, max_tokens=64)
        failure = caught.value

    assert failure.response.headers["x-should-retry"] == "false"
    assert int(failure.response.headers["retry-after"]) <= 60
    assert 60_000 < int(failure.response.headers["x-lockgate-eta-ms"]) <= 100_000
    assert eventually(lambda: paced.total("lockgate_requests_in_flight") == 0)
    assert paced.total("lockgate_requests_total") - before == 1


def test_what_could_not_end_in_time_is_not_begun(paced: Paced) -> None:
    paced.upstream.chooses(lambda _asked: told("slow").later(0.4))
    calls = [
        threading.Thread(target=paced.post, args=("m-timed",), kwargs=STREAM) for _ in range(25)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join(PATIENCE_S)
    paced.upstream.forget()
    headers = {"authorization": f"Bearer {KEYS['k1']}", "x-lockgate-deadline-ms": "200"}
    asked = dumps(chat(model="m-timed", stream=True))

    answer = Exchange(paced.gateway.port, request(CHAT, asked, headers)).whole()

    assert answer.status == 408
    assert answer.headers["x-should-retry"] == "false"
    assert answer.took < SOON_S
    assert paced.upstream.asked == []


def test_a_key_with_limits_is_told_of_its_own(paced: Paced) -> None:
    paced.upstream.plays(completion("one"), completion("two"))
    headers = {"authorization": f"Bearer {LIMITED_KEY}"}
    asked = {path: dumps(body(model="m-shared")) for path, body in BODIES.items()}

    said, other = (
        Exchange(paced.gateway.port, request(path, body, headers)).whole().headers
        for path, body in asked.items()
    )

    assert said["x-ratelimit-limit-requests"] == "600"
    assert said["x-ratelimit-remaining-requests"] in {"598", "599"}
    assert said["x-ratelimit-limit-tokens"] == "100000"
    assert 90_000 < int(said["x-ratelimit-remaining-tokens"]) < 100_000
    assert other["anthropic-ratelimit-requests-limit"] == "600"
    assert other["anthropic-ratelimit-tokens-limit"] == "100000"
    reset = datetime.fromisoformat(other["anthropic-ratelimit-tokens-reset"])
    assert abs((reset - datetime.now(UTC)).total_seconds()) < PATIENCE_S
    assert not [name for name in other if name.startswith("x-ratelimit")]


def test_a_client_that_paces_itself_by_our_headers_is_never_refused(paced: Paced) -> None:
    paced.upstream.chooses(lambda _asked: completion("ok"))
    statuses: list[int] = []
    began = time.monotonic()
    for _ in range(12):
        asked = chat(model="m-narrow")
        headers = {"authorization": f"Bearer {KEYS['k1']}", "x-lockgate-max-wait-ms": "0"}
        answer = Exchange(paced.gateway.port, request(CHAT, dumps(asked), headers)).whole()
        statuses.append(answer.status)
        if answer.headers["x-ratelimit-remaining-requests"] == "0":
            time.sleep(_seconds(answer.headers["x-ratelimit-reset-requests"]))

    assert statuses == [200] * 12
    assert time.monotonic() - began > 2  # it did have to wait


def _seconds(duration: str) -> float:
    if duration.endswith("ms"):
        return float(duration.removesuffix("ms")) / 1000
    return float(duration.removesuffix("s"))


def test_a_key_that_asks_for_little_is_not_crowded_out(paced: Paced) -> None:
    all_wait = threading.Event()
    paced.upstream.chooses(lambda _asked: completion("ok").once(all_wait.is_set))
    words = {"k1": "many", "k2": "few"}

    def ask(key: str) -> None:
        paced.post("m-alone", key=key, messages=[{"role": "user", "content": words[key]}])

    first, second = (
        [threading.Thread(target=ask, args=(key,)) for _ in range(number)]
        for key, number in (("k1", 40), ("k2", 8))
    )
    for begun, threads in ((40, first), (48, second)):
        for thread in threads:
            thread.start()
        assert eventually(partial(_in_flight, paced, begun))
    all_wait.set()
    for thread in (*first, *second):
        thread.join(PATIENCE_S)

    order = [_content(asked) for asked in paced.upstream.asked]
    places = [place for place, word in enumerate(order) if word == "few"]
    waited = order[places[0] : places[-1] + 1]
    few, many = waited.count("few"), waited.count("many")
    assert len(order) == 48
    assert (few + many) ** 2 / (2 * (few**2 + many**2)) >= 0.95  # Jain's index of fairness


def _in_flight(paced: Paced, number: int) -> bool:
    return paced.total("lockgate_requests_in_flight") == number


def _content(asked: Asked) -> str:
    return str(asked.body["messages"][-1]["content"])


def test_pacing_is_told_in_metrics_and_no_client_names_a_label(paced: Paced) -> None:
    model = paced.used_up("middle")
    paced.upstream.plays(completion("held"))
    labels = {"model": model, "provider": model.removeprefix("m-")}
    counters = ("pauses_total", "resumes_total", "429_avoided_total")
    before = [paced.total(f"lockgate_{name}", **labels) for name in counters]
    assert paced.post(model, user="label-of-a-client").status == 200

    def looked() -> bool:
        page = paced.page()
        return summed(page, "lockgate_window_remaining_ratio", provider=labels["provider"]) > 0

    after = [paced.total(f"lockgate_{name}", **labels) for name in counters]
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1, 1]
    assert paced.total("lockgate_pauses_total", reason="requests", outcome="resumed", **labels) >= 1
    assert eventually(looked)
    page = "\n".join(paced.page())
    for name in (
        "queue_depth",
        "leases",
        "orphan_leases",
        "need_ratio_bucket",
        "pause_seconds_sum",
    ):
        assert f"lockgate_{name}{{" in page
    assert "lockgate_need_misses" in page
    assert "label-of-a-client" not in page


def test_a_limit_hit_all_the_same_is_counted(paced: Paced) -> None:
    paced.upstream.plays(error(429, "slow", headers={"retry-after": "1"}))

    assert paced.post("m-short7").status == 429

    name = "lockgate_upstream_429_total"
    assert paced.total(name, model="m-short7", expected="false") == 1


@pytest.fixture(scope="module")
def off(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Paced]:
    yield from _paced(tmp_path_factory, mode="off")


@pytest.fixture(scope="module")
def observing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Paced]:
    yield from _paced(tmp_path_factory, mode="observe")


def _twice(paced: Paced, answer: Answer, *, stream: bool) -> list[Json]:
    """Ask twice of an account that takes one call in a while."""
    paced.upstream.forget()
    paced.upstream.plays(answer, answer)
    wishes = {**STREAM, "stream_options": {"include_usage": True}} if stream else {}
    return [paced.post("m-long3", **wishes) for _ in range(2)]


@pytest.mark.parametrize("answer", [told("Hel", "lo"), completion("whole")])
def test_without_pacing_bytes_pass_as_they_are(off: Paced, answer: Answer) -> None:
    stream = answer.framing == "chunked"
    bodies = [got.body for got in _twice(off, answer, stream=stream)]

    assert bodies == [b"".join(w for w in answer.writes if isinstance(w, bytes))] * 2
    assert off.total("lockgate_pauses_total") == 0


def test_observed_calls_are_not_held_and_counted(observing: Paced) -> None:
    answers = _twice(observing, completion("whole"), stream=False)

    assert [answer.status for answer in answers] == [200, 200]
    assert max(answer.took for answer in answers) < SOON_S
    assert observing.total("lockgate_pauses_total", model="m-long3", outcome="observed") == 1
    assert observing.total("lockgate_429_avoided_total", model="m-long3") == 0
