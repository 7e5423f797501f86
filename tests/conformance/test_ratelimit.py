"""Rate limits: what answers tell of them is understood, and nothing is sent before its time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest

from techniques.core.json import Json
from tests.conformance.stage import CHAT, Stage, chat
from tests.fakes import script
from tests.fakes.client import Reply
from tests.fakes.script import Answer, completion, counts, error
from tests.fakes.upstream import Asked, Choose
from tests.patience import PATIENCE_S, SOON_S

LIMIT, LEFT, RESET = (f"x-ratelimit-{what}-requests" for what in ("limit", "remaining", "reset"))
LATE_S = 8.0
"""What a call may come late on a busy machine; what is misread would be off by more."""
IMPATIENT = {"x-lockgate-max-wait-ms": "1000"}
ACCOUNT: dict[str, Json] = {
    "dialect": "openai_chat",
    "base_url": "http://upstream.test/v1",
    "api_key": "${OA_KEY}",
    "allow_private": True,
}
NUMBERS = range(40)
ACCOUNTS: dict[str, Json] = {f"rl{number}": {**ACCOUNT} for number in NUMBERS}
pytestmark = pytest.mark.gateway(
    {
        "pacing": {"mode": "on", "patience": {"json_s": PATIENCE_S}},
        "upstream": {"backoff_s": 0.1},
        "providers": ACCOUNTS | {"told": {**ACCOUNT, "vendor": "openai"}},
        "models": [{"name": f"{name}-model", "provider": name} for name in (*ACCOUNTS, "told")],
    }
)
_unused = iter(ACCOUNTS)


@pytest.fixture
def model() -> str:
    """Return a model of an account of which nothing is known yet."""
    return f"{next(_unused)}-model"


def spent(reset: str, *, limit: int = 1) -> Answer:
    """Answer well, and tell that no request is left until *reset*."""
    told = script.counts(10, 5)
    headers = {LIMIT: str(limit), LEFT: "0", RESET: reset}
    said = {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}
    top = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    return script.body({**top, "choices": [said], "usage": told}, headers=headers)


def limited(**headers: str) -> Answer:
    """Refuse with 429; underscores in the names of *headers* stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return error(429, "slow down", "rate_limit_error", headers=named)


def moment(seconds: float, form: str) -> str:
    """Return the time in so many *seconds* as *form* has it."""
    at = datetime.now(UTC) + timedelta(seconds=seconds)
    match form:
        case "epoch":
            return str(int(at.timestamp()))
        case "milliseconds":
            return str(int(1000 * at.timestamp()))
        case "zone":
            return (at + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S.%f+01:00")
        case "date":
            return format_datetime(at, usegmt=True)
        case _:
            return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def first_then(first: Callable[[], Answer], then: Answer) -> Choose:
    """Answer the first call by what *first* says when it is there, the others by *then*."""
    calls: list[Asked] = []

    def choose(asked: Asked) -> Answer:
        calls.append(asked)
        return first() if len(calls) == 1 else then

    return choose


def gaps(stage: Stage) -> list[float]:
    """Return the seconds between the calls upstream."""
    times = [asked.at for asked in stage.upstream.asked]
    return [later - earlier for earlier, later in pairwise(times)]


def at_once(stage: Stage, number: int, **fields: Json) -> list[Reply]:
    """Ask *number* times at once and return the answers in the order in which they came."""
    answers: list[Reply] = []

    def ask() -> None:
        answers.append(stage.post(CHAT, chat(**fields)))

    threads = [threading.Thread(target=ask) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    return answers


@pytest.mark.case("RL-01")
@pytest.mark.parametrize(
    ("reset", "pause_s"),
    [("12ms", 0.012), ("1s", 1), ("0.5", 0.5), ("1.4s", 1.4), ("0m1s", 1), ("1", 1)],
)
def test_a_duration_is_waited_for(stage: Stage, model: str, reset: str, pause_s: float) -> None:
    stage.upstream.plays(spent(reset), completion("b"))

    first, second = stage.chat(model=model), stage.chat(model=model)

    assert (first.status, second.status) == (200, 200)
    assert pause_s - 0.05 <= gaps(stage)[0] <= pause_s + LATE_S


@pytest.mark.case("RL-01")
@pytest.mark.parametrize("form", ["stamp", "zone", "epoch", "milliseconds"])
def test_a_point_in_time_is_waited_for(stage: Stage, model: str, form: str) -> None:
    stage.upstream.chooses(first_then(lambda: spent(moment(2, form)), completion("b")))

    first, second = stage.chat(model=model), stage.chat(model=model)

    assert (first.status, second.status) == (200, 200)
    assert 0.7 <= gaps(stage)[0] <= 2 + LATE_S  # whole seconds are cut


@pytest.mark.case("RL-01")
@pytest.mark.parametrize("reset", ["0", "-3", "", "soon"])
def test_what_tells_of_no_pause_delays_nothing(stage: Stage, model: str, reset: str) -> None:
    stage.upstream.plays(spent(reset, limit=600), completion("b"))

    first, second = stage.chat(model=model), stage.chat(model=model)

    assert (first.status, second.status) == (200, 200)
    assert gaps(stage)[0] < 2 + LATE_S


@pytest.mark.case("RL-01")
def test_a_header_that_cannot_be_read_is_counted_and_named(stage: Stage) -> None:
    stage.upstream.plays(spent("soon", limit=600))

    assert stage.chat(model="told-model").status == 200

    unread = stage.total("lockgate_header_unparsed_total", provider="told", header=RESET)
    assert unread == 1


@pytest.mark.case("RL-01")
@pytest.mark.parametrize(
    ("reset", "pause_s"), [("2m59.56s", 180), ("6m0s", 360), ("1h30m", 5400), ("30", 30)]
)
def test_a_long_pause_is_told_and_not_sent_into(
    stage: Stage, model: str, reset: str, pause_s: int
) -> None:
    stage.upstream.plays(spent(reset))

    first, second = (stage.chat(headers=IMPATIENT, model=model) for _ in range(2))

    assert (first.status, second.status) == (200, 429)
    assert len(stage.upstream.asked) == 1
    eta_s = int(second.headers["x-lockgate-eta-ms"]) / 1000
    assert pause_s - 2 <= eta_s <= pause_s + 1


@pytest.mark.case("RL-03")
@pytest.mark.parametrize("form", ["seconds", "epoch", "milliseconds"])
def test_a_bare_number_is_told_apart_by_its_size(stage: Stage, model: str, form: str) -> None:
    def refusal() -> Answer:
        value = "2" if form == "seconds" else moment(2, form)
        return limited(x_ratelimit_reset=value)

    stage.upstream.chooses(first_then(refusal, completion("ok")))

    answer = stage.chat(model=model)

    assert answer.status == 200
    least = 2.0 if form == "seconds" else 0.9
    assert least - 0.05 <= gaps(stage)[0] <= 2 + LATE_S


@pytest.mark.case("RL-03")
def test_a_time_long_past_is_still_no_hot_loop(stage: Stage, model: str) -> None:
    stage.upstream.plays(limited(x_ratelimit_reset="1700000000"), completion("ok"))

    assert stage.chat(model=model).status == 200
    assert gaps(stage)[0] >= 0.01


@pytest.mark.case("RL-04")
@pytest.mark.parametrize("wait", ["2", "0.5", "date", "past"])
def test_retry_after_is_waited_for_in_either_form(stage: Stage, model: str, wait: str) -> None:
    def refusal() -> Answer:
        forms = {"date": moment(2, "date"), "past": moment(-60, "date")}
        return limited(retry_after=forms.get(wait, wait))

    least = {"2": 2.0, "0.5": 0.5, "date": 0.9, "past": 0.0}[wait]
    stage.upstream.chooses(first_then(refusal, completion("ok")))

    answer = stage.chat(model=model)

    assert (answer.status, answer.json["choices"][0]["message"]["content"]) == (200, "ok")
    assert least - 0.05 <= gaps(stage)[0] <= 2 + LATE_S


@pytest.mark.case("RL-06")
def test_a_bare_429_is_waited_out_longer_each_time(stage: Stage, model: str) -> None:
    stage.upstream.plays(limited(), limited(), completion("ok"))

    answer = stage.chat(model=model)

    assert answer.status == 200
    assert len(stage.upstream.asked) == 3
    first, second = gaps(stage)
    assert first >= 0.05
    assert second >= 0.1


@pytest.mark.case("RL-07")
def test_an_hour_is_neither_waited_nor_hammered(stage: Stage, model: str) -> None:
    stage.upstream.plays(limited(retry_after="3600"))

    first, second = (stage.chat(headers=IMPATIENT, model=model) for _ in range(2))

    assert [answer.status for answer in (first, second)] == [429, 429]
    assert max(first.took, second.took) < SOON_S
    assert len(stage.upstream.asked) == 1
    assert first.headers["x-should-retry"] == second.headers["x-should-retry"] == "false"
    assert 3590_000 <= int(second.headers["x-lockgate-eta-ms"]) <= 3600_000


@pytest.mark.case("RL-09")
def test_what_no_window_could_hold_is_refused_at_once(stage: Stage, model: str) -> None:
    said = counts(10, 5)
    headers = {f"x-ratelimit-{name}-tokens": value for name, value in _TOKENS.items()}
    stage.upstream.plays(_whole(said, headers))
    assert stage.chat(model=model).status == 200

    answer = stage.chat(model=model, messages=[{"role": "user", "content": "w " * 8000}])

    assert 400 <= answer.status < 500
    assert answer.status != 429
    assert answer.took < SOON_S
    assert len(stage.upstream.asked) == 1


_TOKENS = {"limit": "1000", "remaining": "990", "reset": "1s"}


def _whole(used: Json, headers: dict[str, str]) -> Answer:
    said = {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}
    top = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    return script.body({**top, "choices": [said], "usage": used}, headers=headers)


@pytest.mark.case("RL-10")
@pytest.mark.parametrize("waits", [("1", "3"), ("3", "1")])
def test_the_pause_that_ends_last_holds(stage: Stage, model: str, waits: tuple[str, str]) -> None:
    one, other = (limited(retry_after=wait) for wait in waits)
    both, apart_s = (lambda: len(stage.upstream.asked) == 2), 0.25
    other = other.later(apart_s)
    stage.upstream.plays(one.once(both), other.once(both), *[completion("ok")] * 3)

    answers = at_once(stage, 2, model=model)
    answers.append(stage.chat(model=model))

    assert [answer.status for answer in answers] == [200, 200, 200]
    _, second, *later = (asked.at for asked in stage.upstream.asked)
    assert min(later) >= second + 3.0 + (apart_s if waits[1] == "3" else 0.0)


@pytest.mark.case("RL-12")
def test_who_has_time_waits_until_an_upstream_is_free_again(stage: Stage, model: str) -> None:
    stage.upstream.plays(limited(retry_after="2"), completion("ok"))

    answer = stage.chat(model=model, headers={"x-lockgate-deadline-ms": "10000"})

    assert answer.status == 200
    assert gaps(stage)[0] >= 1.95


@pytest.mark.case("RL-12")
def test_who_has_no_time_is_told_when_to_come_again(stage: Stage, model: str) -> None:
    stage.upstream.plays(limited(retry_after="3"), completion("ok"))

    first, second = (stage.chat(headers=IMPATIENT, model=model) for _ in range(2))

    for answer in (first, second):
        assert answer.status in {429, 503}
        assert 2 <= int(answer.headers["retry-after"]) <= 3
        assert answer.json["error"]["message"]
    stage.upstream.plays()
