"""Runs that survive, as clients see them: real SDKs, real processes, one of which is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anthropic
import httpx2
import openai
import orjson
import pytest

from techniques.core.json import Json
from tests.fakes.client import CutOff, Exchange, Reply, request
from tests.fakes.gateway import KEYS, Gateway, hashed, settings
from tests.fakes.script import Answer, completion, dumps
from tests.fakes.upstream import Asked, ScriptedUpstream, dead_port
from tests.patience import PATIENCE_S, eventually

CHAT = "/v1/chat/completions"
DRAWS = {"technique": "self_consistency", "params": {"num_samples": 3, "stop": "exact"}}
ASKED = [{"role": "user", "content": "What is 6 * 7?"}]
LEASE_S = 1.0
ANSWERS = {f"The answer is {number}." for number in (1, 2, 3)}
"""Of draws at once, which one comes first to the provider is not said."""


@contextmanager
def gateways(
    folder: Path, upstream: ScriptedUpstream, number: int = 1, **changes: Any
) -> Iterator[list[Gateway]]:
    """Start gateways over one database."""
    held, dead = dead_port()
    usual: dict[str, Json] = {
        "database": {"url": f"sqlite:///{folder}/shared.db"},
        "journal": {"lease_s": LEASE_S},
        "upstream": {"retries": 0},
    }
    with ExitStack() as stack, held:
        yield [
            stack.enter_context(_gateway(folder / str(place), upstream, dead, usual | changes))
            for place in range(number)
        ]


def _gateway(folder: Path, upstream: ScriptedUpstream, dead: int, changes: Json) -> Gateway:
    folder.mkdir()
    return Gateway(folder, settings(upstream.port, dead, changes))


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as playing:
        yield playing


def differing(upstream: ScriptedUpstream) -> Answer:
    """Return an answer that no other call gets, so that no vote ends early."""
    return completion(f"The answer is {len(upstream.asked)}.")


def client(gateway: Gateway, **options: Any) -> openai.OpenAI:
    """Return an SDK as its users have it, retries and all."""
    root = f"http://127.0.0.1:{gateway.port}/v1"
    return openai.OpenAI(base_url=root, api_key=KEYS["k1"], **options)


def post(
    gateway: Gateway, headers: dict[str, str] | None = None, key: str = "k1", **fields: Json
) -> Reply:
    """Ask *gateway* once."""
    body = {"model": "oa-model", "messages": ASKED, **fields}
    said = {"authorization": f"Bearer {KEYS[key]}", **(headers or {})}
    return Exchange(gateway.port, request(CHAT, dumps(body), said)).whole()


def seen(gateway: Gateway, run: str, key: str = "k1") -> Reply:
    """Look at a run."""
    return gateway.get(f"/v1/runs/{quote(run)}", KEYS[key])


def test_a60_a_run_goes_on_elsewhere_after_its_replica_was_killed(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    slow = threading.Event()

    def answer(asked: Asked) -> Answer:
        del asked
        late = len(upstream.asked) == 3 and not slow.is_set()
        return differing(upstream).later(30 if late else 0)

    upstream.chooses(answer)
    knows = {"oa": {"idempotent": True}}
    with gateways(tmp_path, upstream, 2, providers=knows) as (first, second):
        run = {"idempotency-key": "task 1/step 2"}
        thread = threading.Thread(target=lambda: _quietly(post, first, run, reliability=DRAWS))
        thread.start()
        assert eventually(  # a kill before the third call was sent is another case
            lambda: (
                len(upstream.asked) == 3
                and _states(second, "task 1/step 2").count("completed") == 2
            )
        )
        _kill(first)
        thread.join(PATIENCE_S)
        slow.set()
        reply = post(second, run, reliability=DRAWS)

        assert reply.status == 200, reply.body
        assert reply.json["choices"][0]["message"]["content"] in ANSWERS
        assert reply.headers["x-lockgate-run"] == "task 1/step 2"
        assert len(upstream.asked) == 4, "two were settled, one was sent twice"
        *_, sent, again = known_by = [asked.header("idempotency-key") for asked in upstream.asked]
        assert sent == again, "a provider that knows it again need not carry it out twice"
        assert len(set(known_by)) == 3
        run_seen = seen(second, "task 1/step 2").json
        assert (run_seen["state"], run_seen["ambiguous"]) == ("completed", 1)
        assert float(run_seen["waste_usd"]) > 0


def _kill(gateway: Gateway) -> None:
    gateway.process.kill()
    gateway.process.wait()


def _quietly(ask: Callable[..., Reply], *args: Any, **named: Any) -> None:
    with suppress(OSError, CutOff):  # it was killed
        ask(*args, **named)


def _states(gateway: Gateway, run: str) -> list[str]:
    reply = seen(gateway, run)
    return [step["state"] for step in reply.json["steps"]] if reply.status == 200 else []


def limited(wait_s: float) -> dict[str, Json]:
    """Return an account that takes two calls, and then one each *wait_s*."""
    limits = {"rpm": 2, "minute_s": wait_s * 2}
    return {"providers": {"oa": {"limits": limits}}, "pacing": {"mode": "on"}}


def test_a_client_with_the_sdks_own_retries_survives_a_suspension(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream.chooses(lambda _asked: differing(upstream))
    with gateways(tmp_path, upstream, **limited(6.0)) as (gateway,):
        asking = client(gateway)
        began = time.monotonic()
        answer = asking.chat.completions.create(
            model="oa-model",
            messages=ASKED,  # type: ignore[arg-type]
            extra_headers={"x-lockgate-on-limit": "suspend"},
            extra_body={"reliability": DRAWS},
        )
        waited = time.monotonic() - began
        metrics = gateway.get("/metrics").body.decode()

    assert answer.choices[0].message.content in ANSWERS
    assert len(upstream.asked) == 3, "no step was paid twice"
    assert waited > 1
    assert 'lockgate_run_resumes_total{cause="body"}' in metrics


def test_a_suspension_is_told_truthfully_in_both_dialects(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream.chooses(lambda _asked: differing(upstream))
    with gateways(tmp_path, upstream, **limited(90.0)) as (gateway,):
        wishes = {"x-lockgate-on-limit": "suspend", "idempotency-key": "r1"}
        reply = post(gateway, wishes, reliability=DRAWS)
        other = anthropic.Anthropic(
            base_url=f"http://127.0.0.1:{gateway.port}", api_key=KEYS["k1"], max_retries=0
        )
        with pytest.raises(anthropic.RateLimitError) as told:
            other.messages.create(
                model="oa-model",
                max_tokens=50,
                messages=ASKED,  # type: ignore[arg-type]
                extra_headers={"x-lockgate-on-limit": "suspend", "x-lockgate-run": "r2"},
            )
        run = seen(gateway, "r1").json

    assert reply.status == 429
    assert reply.json["error"]["code"] == "run_suspended"
    assert reply.headers["x-should-retry"] == "true"
    assert reply.headers["retry-after"] == "60"
    assert int(reply.headers["x-lockgate-eta-ms"]) > 60_000
    assert reply.headers["x-lockgate-run"] == "r1"
    assert told.value.response.headers["x-lockgate-run"] == "r2"
    assert run["state"] == "suspended"
    assert 60_000 < run["eta_ms"] <= 90_000


def test_a87_who_does_not_wait_gets_202_and_finds_the_same_answer_later(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream.chooses(lambda _asked: differing(upstream))
    with gateways(tmp_path, upstream) as (gateway,):
        reply = post(gateway, {"prefer": "respond-async"}, reliability=DRAWS)
        at = reply.headers["location"]
        assert eventually(lambda: gateway.get(at, KEYS["k1"]).json["state"] == "completed")
        run = gateway.get(at, KEYS["k1"]).json
        waited = post(gateway, {"x-lockgate-run": "other"}, reliability=DRAWS)
        again = {"prefer": "respond-async", "x-lockgate-run": run["id"]}
        over = post(gateway, again, reliability=DRAWS)

    assert reply.status == 202
    assert (reply.json["state"], over.status, over.json["state"]) == ("executing", 202, "completed")
    assert reply.headers["x-lockgate-run"] == run["id"]
    found, expected = dict(run["answer"]), dict(waited.json)
    for one in (found, expected):  # an answer has its own name and time, and here its number
        del one["id"], one["created"], one["choices"]
    assert found == expected
    said = run["answer"]["choices"][0]["message"]["content"]
    assert said in ANSWERS


def test_a_run_in_the_background_waits_until_the_limit_lets_it_through(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream.chooses(lambda _asked: differing(upstream))
    with gateways(tmp_path, upstream, **limited(2.0)) as (gateway,):
        wishes = {"prefer": "respond-async", "x-lockgate-on-limit": "suspend"}
        at = post(gateway, wishes, reliability=DRAWS).headers["location"]
        assert eventually(lambda: gateway.get(at, KEYS["k1"]).json["state"] == "completed")
    assert len(upstream.asked) == 3


def test_a_run_in_the_background_goes_on_elsewhere_by_itself(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream.chooses(
        lambda _asked: differing(upstream).later(30 if len(upstream.asked) == 3 else 0)
    )
    with gateways(tmp_path, upstream, 2) as (first, second):
        at = post(first, {"prefer": "respond-async"}, reliability=DRAWS).headers["location"]
        assert eventually(lambda: len(upstream.asked) == 3)
        _kill(first)
        assert eventually(lambda: second.get(at, KEYS["k1"]).json["state"] == "completed")
    assert len(upstream.asked) == 4


@pytest.mark.parametrize(("how", "state"), [("approve", "completed"), ("reject", "failed")])
def test_a_run_in_the_background_goes_on_as_the_person_says_who_was_asked(
    upstream: ScriptedUpstream, tmp_path: Path, how: str, state: str
) -> None:
    upstream.chooses(
        lambda _asked: differing(upstream).later(30 if len(upstream.asked) == 3 else 0)
    )
    people: Json = {"persons": [{"name": "ana", "hash": hashed("token-of-ana")}]}
    stated: Json = {"lease_s": LEASE_S, "ambiguous": "ask"}
    with gateways(tmp_path, upstream, 2, attention=people, journal=stated) as (first, second):
        at = post(first, {"prefer": "respond-async"}, reliability=DRAWS).headers["location"]
        assert eventually(lambda: len(upstream.asked) == 3)
        _kill(first)
        assert eventually(lambda: bool(second.get("/v1/approvals", KEYS["k1"]).json["approvals"]))
        (asked,) = second.get("/v1/approvals", KEYS["k1"]).json["approvals"]
        assert eventually(lambda: second.get(at, KEYS["k1"]).json["reason"] == "step_ambiguous")
        assert len(upstream.asked) == 3
        said = {"authorization": "Bearer token-of-ana"}
        decide = request(f"/v1/approvals/{asked['id']}/{how}", b"{}", said)
        assert Exchange(second.port, decide).whole().status == 200
        assert eventually(lambda: second.get(at, KEYS["k1"]).json["state"] == state)
        run = second.get(at, KEYS["k1"]).json

    assert asked["kind"] == "ambiguous_retry"
    assert len(upstream.asked) == (4 if how == "approve" else 3)
    assert run["ambiguous"] == (1 if how == "approve" else 0)
    assert run["resumes"] <= 2, "it was not tried again and again meanwhile"


def test_a88_the_same_key_listens_to_the_call_that_is_under_way(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream.chooses(lambda _asked: completion("The answer is 42.").later(1.0))
    replies: list[Reply] = []
    with gateways(tmp_path, upstream) as (gateway,):
        same = {"idempotency-key": "once"}
        threads = [
            threading.Thread(target=lambda: replies.append(post(gateway, same))) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        with pytest.raises(openai.ConflictError) as told:
            client(gateway).chat.completions.create(
                model="oa-model",
                messages=[{"role": "user", "content": "Another."}],
                extra_headers=same,
            )
        rows = gateway.get("/admin/ledger?run=once", "canary-admin-token-77c2").json["rows"]

    assert [reply.status for reply in replies] == [200] * 3
    assert len({reply.body for reply in replies}) == 1
    assert len(upstream.asked) == 1
    assert len(rows) == 1
    assert told.value.response.headers["x-should-retry"] == "false"


def test_a_stream_that_is_asked_for_again_begins_at_its_beginning(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream.chooses(lambda _asked: differing(upstream))
    with gateways(tmp_path, upstream) as (gateway,):
        asking = client(gateway)

        def text() -> str:
            stream: Any = asking.chat.completions.create(
                model="oa-model",
                messages=ASKED,  # type: ignore[arg-type]
                stream=True,
                extra_headers={"idempotency-key": "streamed"},
                extra_body={"reliability": DRAWS},
            )
            return "".join(
                chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices
            )

        first, again = text(), text()

    assert first == again
    assert first in ANSWERS
    assert len(upstream.asked) == 3


def test_a_run_is_its_own_keys_alone(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    upstream.chooses(lambda _asked: completion("Fine."))
    with gateways(tmp_path, upstream) as (gateway,):
        assert post(gateway, {"x-lockgate-run": "mine"}).status == 200
        assert seen(gateway, "mine").json["state"] == "completed"
        for path, method in (("", "GET"), ("/events", "GET"), ("/resume", "POST")):
            said = {"authorization": f"Bearer {KEYS['k2']}"}
            asked = request(f"/v1/runs/mine{path}", b"", said, method)
            assert Exchange(gateway.port, asked).whole().status == 404, path
        assert gateway.get("/v1/runs/mine").status == 401
        assert post(gateway, {"x-lockgate-run": "mine"}, key="k2").status == 200
        assert len(upstream.asked) == 2, "another key's run is another run"
        said = {"authorization": f"Bearer {KEYS['k1']}"}
        gone = Exchange(gateway.port, request("/v1/runs", None, said, "DELETE")).whole()
        assert gone.json == {"erased": 1}
        assert seen(gateway, "mine").status == 404
        assert seen(gateway, "mine", "k2").status == 200


def _advised(error: str) -> str:
    """Return the body that the message of *error* says is to be sent."""
    message: str = orjson.loads(error)["error"]["message"]
    return message[message.index("{") : message.index("}") + 1]


def test_a_run_that_was_put_away_is_looked_at_resumed_and_cancelled(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream.chooses(lambda _asked: differing(upstream))
    with gateways(tmp_path, upstream, **limited(2.0)) as (gateway,):
        root = f"http://127.0.0.1:{gateway.port}/v1/runs"
        said = {"authorization": f"Bearer {KEYS['k1']}"}
        wishes = {"x-lockgate-on-limit": "suspend"}
        for run in ("one", "two"):
            reply = post(gateway, {**wishes, "x-lockgate-run": run}, reliability=DRAWS)
            assert reply.status == 429
        with httpx2.Client(headers=said, timeout=PATIENCE_S) as http:
            assert http.post(f"{root}/two/cancel").json()["state"] == "cancelled"
            wrong = http.post(f"{root}/one/resume", json={"forced": True})
            assert wrong.status_code == 400
            assert "forced" in wrong.text
            assert http.post(f"{root}/one/resume").status_code == 202
            with http.stream("GET", f"{root}/one/events") as events:
                told = events.read().decode()
            assert http.get(f"{root}/one").json()["state"] == "completed"
            cancelled = post(gateway, {**wishes, "x-lockgate-run": "two"}, reliability=DRAWS)
            as_is = http.post(f"{root}/two/resume")
            forced = http.post(f"{root}/two/resume", content=_advised(as_is.text))

    assert told.count("event: run\n") >= 1
    assert '"state":"completed"' in told
    assert cancelled.status == 409
    assert cancelled.json["error"]["code"] == as_is.json()["error"]["code"] == "run_cancelled"
    assert (as_is.status_code, forced.status_code) == (409, 202)
    assert len(upstream.asked) <= 5
