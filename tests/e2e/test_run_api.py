"""Runs as their owner moves them: forked, taken from one gateway to another, listed, erased."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import orjson
import pytest
import redis

from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import ADMIN_TOKEN, KEYS, Gateway, settings
from tests.fakes.script import Answer, completion
from tests.fakes.upstream import Asked, ScriptedUpstream, dead_port
from tests.patience import eventually
from tests.services.valkey import Valkey
from tests.techniques.scene import marks

CHAT = "/v1/chat/completions"
DRAWS = {"technique": "self_consistency", "params": {"num_samples": 3, "stop": "exact"}}
JUDGED = {"technique": "best_of_n", "judge": "oa-judge", "params": {"num_samples": 2}}
KINDS = ("memory", "redis", "sqlite")


@dataclass
class Place:
    """A gateway, the provider behind it, and where it keeps runs."""

    gateway: Gateway
    upstream: ScriptedUpstream
    config: Path

    def send(
        self, path: str, body: Json = None, method: str = "POST", key: str = "k1", **more: str
    ) -> Reply:
        """Send a request with a key of that name, or ``admin``; *more* are headers."""
        token = ADMIN_TOKEN if key == "admin" else KEYS[key]
        said = {"authorization": f"Bearer {token}", **more}
        raw = b"" if body is None else orjson.dumps(body)
        return Exchange(self.gateway.port, request(path, raw, said, method)).whole()

    def get(self, path: str, key: str = "k1") -> Reply:
        return self.send(path, method="GET", key=key)

    def chat(self, run: str | None = None, key: str = "k1", **fields: Any) -> Reply:
        """Make a call, as the run of that name."""
        headers = {"x-lockgate-run": run} if run else {}
        headers |= fields.pop("headers", {})
        said = {"model": "oa-model", "messages": [{"role": "user", "content": "What is 6 * 7?"}]}
        return self.send(CHAT, said | fields, key=key, **headers)

    def draws(self, run: str, key: str = "k1") -> Reply:
        """Have a run of three calls carried out."""
        reply = self.chat(run, key, reliability=DRAWS)
        assert reply.status == 200, reply.body
        return reply

    def fork(self, run: str, **said: Json) -> Reply:
        return self.send(f"{at(run)}/fork", said)

    def goes_on(self, run: str, key: str = "k1") -> tuple[Json, list[Json]]:
        """Have a run go on; return how it then stands, and what the provider was asked for it."""
        before = len(self.upstream.asked)
        reply = self.send(f"{at(run)}/resume", key=key)
        assert reply.status == 202, reply.body
        told: list[Json] = []

        def rests() -> bool:
            told.append(self.get(at(run), key).json)
            return told[-1]["state"] not in ("executing", "interrupted")

        assert eventually(rests), told[-1]
        return told[-1], [asked.body for asked in self.upstream.asked[before:]]


def at(run: str) -> str:
    return f"/v1/runs/{quote(run)}"


def answer(asked: Asked) -> Answer:
    """Answer as a judge would, or as a model that never says the same to other dice."""
    is_judge = asked.body["model"] in ("real-judge", "real-own")
    number = asked.body.get("seed", 42) % 9973
    return completion(marks("n06", "n07", "n08") if is_judge else f"The answer is {number}.")


@contextmanager
def _place(folder: Path, kind: str, valkey: Valkey, **changes: Any) -> Iterator[Place]:
    held, dead = dead_port()
    kept: dict[str, Json] = {
        "memory": {"database": {"url": "none"}, "journal": {"durability": "memory"}},
        "redis": {"store": {"redis": valkey.url}, "journal": {"durability": "redis"}},
        "sqlite": {"journal": {"durability": "database"}},
    }[kind]
    usual = {"database": {"url": f"sqlite:///{folder}/kept.db"}, "upstream": {"retries": 0}}
    with held, ScriptedUpstream() as upstream:
        upstream.chooses(answer)
        of_key = changes.pop("k2", {})
        told = settings(upstream.port, dead, usual | kept | changes)
        told["keys"][1].update(of_key)
        with Gateway(folder, told) as gateway:
            yield Place(gateway, upstream, folder / "lockgate.yaml")


@pytest.fixture(scope="module", params=KINDS)
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, valkey: Valkey
) -> Iterator[Place]:
    kind: str = request.param
    with _place(tmp_path_factory.mktemp(kind), kind, valkey) as opened:
        yield opened


@pytest.fixture
def run() -> str:
    """Return a name that no other run has."""
    return f"task/{uuid4().hex} 1"


def test_a57_a_fork_shares_what_its_parent_paid_for(place: Place, run: str) -> None:
    first = place.draws(run)
    parent = place.get(at(run)).json
    reply = place.fork(run, id=f"{run} too")
    assert reply.status == 201
    assert place.get(reply.headers["location"]).json == reply.json
    assert (reply.json["id"], reply.json["parent"]) == (f"{run} too", run)
    assert (reply.json["state"], reply.json["cost_usd"]) == ("interrupted", "0")

    fork, asked = place.goes_on(f"{run} too")
    assert asked == []
    assert fork["answer"]["choices"] == first.json["choices"]
    assert fork["cost_usd"] == "0"
    assert fork["saved_usd"] == parent["cost_usd"] != "0"
    assert [step["shared"] for step in fork["steps"]] == [True] * 3
    assert {step["key"] for step in fork["steps"]} == {step["key"] for step in parent["steps"]}
    after = place.get(at(run)).json
    del after["answer"], parent["answer"]  # which has the time at which it is told
    assert after == parent, "its parent knows nothing of it"


def test_a57_a_fork_from_a_step_makes_that_and_what_ended_after_it_anew(
    place: Place, run: str
) -> None:
    place.draws(run)
    steps = place.get(at(run)).json["steps"]
    forks = [
        place.fork(run, from_step=step).json["id"]
        for step in (2, steps[2]["path"], steps[0]["key"])
    ]
    told = [place.goes_on(fork) for fork in forks]
    assert [len(asked) for _, asked in told] == [2, 1, 3]
    assert [fork["state"] for fork, _ in told] == ["completed"] * 3
    anew = [step for step in told[0][0]["steps"] if not step["shared"]]
    assert len(anew) == 2
    assert not {step["key"] for step in anew} & {step["key"] for step in steps}
    assert float(told[0][0]["cost_usd"]) > 0


def test_a57_a_fork_refuses_a_name_that_is_taken_and_a_parent_that_is_not_there(
    place: Place, run: str
) -> None:
    place.draws(run)
    taken = place.fork(run, id=run)
    assert (taken.status, taken.json["error"]["code"]) == (409, "run_exists")
    assert taken.headers["x-should-retry"] == "false"
    assert place.fork(f"{run} not there").status == 404
    assert place.send(f"{at(run)}/fork", {}, key="k2").status == 404
    for said, param in (
        ({"from_step": "none"}, "from_step"),
        ({"from_step": 4}, "from_step"),
        ({"from_step": 0}, "from_step"),
        ({"id": ""}, "id"),
        ({"id": "a\nb"}, "id"),
        ({"from": 1}, "from"),
        ({"overrides": {"models": "x"}}, "overrides.models"),
        ({"overrides": {"wishes": {"run": "x"}}}, "overrides.wishes.run"),
        ({"overrides": {"wishes": {"judges": "x"}}}, "x-lockgate-judges"),
        ({"overrides": {"model": "nowhere"}}, "model"),
    ):
        refused = place.fork(run, **said)
        assert refused.status in (400, 404), (said, refused.body)
        assert param in (refused.json["error"]["param"] or ""), (said, refused.body)


def test_a57_the_parents_request_does_not_go_on_with_its_fork(place: Place, run: str) -> None:
    place.draws(run)
    place.fork(run, id=f"{run} too")
    before = len(place.upstream.asked)
    assert place.chat(reliability=DRAWS).headers["x-lockgate-run"] not in (run, f"{run} too")
    again = place.chat(reliability=DRAWS, headers={"x-stainless-retry-count": "1"})
    assert again.headers["x-lockgate-run"] != f"{run} too"
    assert place.get(at(f"{run} too")).json["state"] == "interrupted"
    assert len(place.upstream.asked) == before + 3, "who says it asks again gets what there is"
    by_name = place.chat(f"{run} too", reliability=DRAWS)
    assert by_name.status == 200
    assert len(place.upstream.asked) == before + 3
    assert place.get(at(f"{run} too")).json["state"] == "completed"


def test_overrides_make_those_steps_anew_that_they_touch(place: Place, run: str) -> None:
    assert place.chat(run, reliability=JUDGED).status == 200
    for overrides, models in (
        ({"wishes": {"judge": "oa-own"}}, {"real-own"}),
        ({"model": "oa-plain"}, {"real-plain"}),
        ({"body": {"user": "somebody"}}, set()),
        ({"body": {"temperature": 0.3}}, None),
        ({"technique": "baseline"}, {"real-oa"}),
        ({"technique": "none"}, {"real-oa"}),
    ):
        reply = place.fork(run, overrides=overrides)
        assert reply.status == 201, reply.body
        fork, asked = place.goes_on(reply.json["id"])
        assert fork["state"] == "completed", (overrides, fork)
        if models is not None:
            assert {body["model"] for body in asked} == models, overrides
        own = [step for step in fork["steps"] if not step["shared"]]
        assert len(asked) == sum(step["attempts"] for step in own)


def test_options_of_a_fork_are_those_that_it_is_given(place: Place, run: str) -> None:
    place.draws(run)
    more = {**DRAWS["params"], "num_samples": 5}  # type: ignore[dict-item]
    reply = place.fork(run, overrides={"params": more})
    fork, asked = place.goes_on(reply.json["id"])
    assert fork["state"] == "completed"
    assert len(asked) == 2, "three of the five are there"
    fewer = place.fork(run, overrides={"params": {**DRAWS["params"], "num_samples": 2}})  # type: ignore[dict-item]
    fork, asked = place.goes_on(fewer.json["id"])
    assert (fork["state"], len(asked)) == ("completed", 0), "a step that is not asked for is left"


def test_what_a_fork_shares_does_not_count_for_its_budget(place: Place, run: str) -> None:
    place.draws(run)
    five = {**DRAWS["params"], "num_samples": 5}  # type: ignore[dict-item]
    wishes = {"max-calls": 4}
    capped = place.fork(run, overrides={"params": five, "wishes": wishes})
    fork, asked = place.goes_on(capped.json["id"])
    assert fork["state"] == "completed"
    assert len(asked) == 2, "with the three that it shares it has made more than four"


@pytest.mark.parametrize("kind", KINDS)
def test_a58_a_run_moves_to_another_gateway_and_goes_on_at_its_step(
    kind: str, run: str, tmp_path: Path, valkey: Valkey
) -> None:
    limits = {"rpm": 2, "minute_s": 600}
    slow = {"providers": {"oa": {"limits": limits}}, "pacing": {"mode": "on"}}
    other = KINDS[(KINDS.index(kind) + 1) % len(KINDS)]
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    with (
        _place(tmp_path / "old", kind, valkey, **slow) as old,
        _place(tmp_path / "new", other, valkey) as new,
    ):
        wishes = {"x-lockgate-on-limit": "suspend"}
        assert old.chat(run, reliability=DRAWS, headers=wishes).status == 429
        bundle = old.get(f"{at(run)}/export").json
        parent_steps = old.get(at(run)).json["steps"]
        reply = new.send("/v1/runs/import", bundle, key="k2")
        assert reply.status == 201, reply.body
        assert reply.json["state"] == "suspended"
        told, asked = new.goes_on(run, "k2")
        paid = len(old.upstream.asked)

    assert set(bundle) == {"format", "exported_at", "run", "steps", "config_hash", "sha256"}
    assert bundle["format"] == "rel-run/1"
    assert paid > 0
    assert len(asked) == 3 - paid, "no step is paid twice"
    assert (told["state"], told["replayed"]) == ("completed", paid)
    done = {step["path"]: step for step in parent_steps if step["state"] == "completed"}
    assert {s["path"]: s["key"] for s in told["steps"] if s["path"] in done} == {
        path: step["key"] for path, step in done.items()
    }


def _sealed(bundle: Json) -> Json:
    """Return *bundle* with the hash that is right for it."""
    body = {name: value for name, value in bundle.items() if name != "sha256"}
    text = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return {**body, "sha256": sha256(text).hexdigest()}


def test_a58_a_document_is_brought_in_over_a_run_only_if_that_is_said(
    place: Place, run: str
) -> None:
    place.draws(run)
    bundle = place.get(f"{at(run)}/export").json
    refused = place.send("/v1/runs/import", bundle)
    assert (refused.status, refused.json["error"]["code"]) == (409, "run_exists")
    told = place.send("/v1/runs/import?overwrite=1", bundle)
    assert (told.status, told.json["state"]) == (201, "completed")
    assert told.json["answer"] == place.get(at(run)).json["answer"]
    assert _sealed(bundle) == bundle
    assert place.send(f"{at(run)}/export", method="GET", key="k2").status == 404


def test_a64_a_document_that_has_changed_is_refused(place: Place, run: str) -> None:
    place.draws(run)
    bundle = place.get(f"{at(run)}/export").json
    step = bundle["steps"][0]
    big = {**bundle["run"], "created_ms": 10**18}
    for changed in (
        {**bundle, "exported_at": "yesterday"},
        {**bundle, "steps": bundle["steps"][1:]},
        {**bundle, "sha256": 7},
        {**bundle, "format": "rel-run/2"},
        {"format": ["rel-run/1"]},
        {"format": "rel-run/1"},
        {"format": "agentpause-checkpoint/1"},
        {},
        _sealed({**bundle, "config_hash": "0"}),
        _sealed({**bundle, "run": None}),
        _sealed({**bundle, "run": big}),
        _sealed({**bundle, "run": {**bundle["run"], "name": ["k1", ""]}}),
        _sealed({**bundle, "run": {**bundle["run"], "standing": None}}),
        _sealed({**bundle, "steps": [step, step]}),
        _sealed({**bundle, "steps": [{**step, "state": "paid"}]}),
        _sealed({**bundle, "steps": [{**step, "events": '[["TextDelta", 5]]'}]}),
        _sealed({**bundle, "steps": [{**step, "events": '[["Nothing"]]'}]}),
        _sealed({**bundle, "steps": [{**step, "path": "a\x00"}]}),
    ):
        reply = place.send("/v1/runs/import?overwrite=1", changed)
        assert reply.status == 400, (changed, reply.body)
        assert reply.json["error"]["code"] == "invalid_bundle"
        assert reply.json["error"]["message"]
    raw = request("/v1/runs/import", b"{", {"authorization": f"Bearer {KEYS['k1']}"})
    assert Exchange(place.gateway.port, raw).whole().status == 400
    assert place.get(at(run)).json["state"] == "completed"


def test_a64_a_session_of_agentpause_goes_on_with_its_next_step(place: Place, run: str) -> None:
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go on."}]
    state: Json = {
        "session_id": run,
        "step": 7,
        "messages": said,
        "idempotency_keys": [f"{run}:search:0a1b2c3d"],
        "total_tokens_used": 4200,
        "extra": {"estimator": {"errors": [1, -2, 3], "realized": [650]}},
    }
    bundle = {"format": "agentpause-checkpoint/1", "exported_at": "2026-01-01", "state": state}
    no_model = place.send("/v1/runs/import", bundle)
    assert (no_model.status, no_model.json["error"]["param"]) == (400, "model")
    assert place.send("/v1/runs/import?model=nowhere", bundle).status == 404
    told = place.send("/v1/runs/import?model=oa-model", bundle)
    assert told.status == 201, told.body
    assert told.json["session"] == run
    rest = {name: state[name] for name in state if name not in ("session_id", "messages")}
    assert told.json["checkpoint"] == rest
    assert place.send("/v1/runs/import?model=oa-model", bundle).status == 409
    done, asked = place.goes_on(run)
    assert [body["messages"] for body in asked] == [said]
    assert done["answer"]["choices"][0]["message"]["content"] == "The answer is 42."
    assert done["checkpoint"]["step"] == 7
    fork = place.fork(run).json
    assert fork["checkpoint"] == rest


def test_sessions_tell_their_runs_and_what_they_cost(place: Place, run: str) -> None:
    session = f"s {run}"
    place.chat(f"{run} 1", headers={"x-lockgate-session-id": session}, reliability=DRAWS)
    place.chat(f"{run} 2", headers={"x-lockgate-session": session})
    place.chat(f"{run} 3", reliability={"session": session})
    place.chat(f"{run} 4")
    place.chat(f"{run} 1", "k2", headers={"x-lockgate-session": session})
    fork = place.fork(f"{run} 1").json["id"]

    told = place.get(f"/v1/sessions/{quote(session)}").json
    assert {one["id"] for one in told["data"]} == {f"{run} {n}" for n in (1, 2, 3)} | {fork}
    assert (told["runs"], told["calls"], told["windows"]) == (4, 5, [])
    assert told["states"] == {"completed": 3, "interrupted": 1}
    costs = [float(place.get(at(f"{run} {n}")).json["cost_usd"]) for n in (1, 2, 3)]
    assert float(told["cost_usd"]) == pytest.approx(sum(costs))
    assert told["cost_known"]
    listed = [one for one in place.get("/v1/sessions").json["data"] if one["id"] == session]
    assert [(one["runs"], one["cost_usd"]) for one in listed] == [(4, told["cost_usd"])]
    other = place.get(f"/v1/sessions/{quote(session)}", "k2").json
    assert other["runs"] == 1
    unknown = place.get("/v1/sessions/none")
    assert (unknown.status, unknown.json["error"]["code"]) == (404, "session_not_found")


def test_a_session_tells_what_its_key_may_still_take(
    run: str, tmp_path: Path, valkey: Valkey
) -> None:
    with _place(tmp_path, "memory", valkey, pacing={"mode": "on"}, k2={"rpm": 50}) as place:
        place.chat(run, "k2", headers={"x-lockgate-session": "s"})
        told = place.get("/v1/sessions/s", "k2").json
    assert [(one["window"], one["cap"]) for one in told["windows"]] == [("k2:requests:60", 50)]


def test_a_key_lists_its_own_runs_and_the_admin_token_those_of_all(place: Place, run: str) -> None:
    place.draws(run)
    place.chat(run, "k2")
    latest = place.get("/v1/runs?limit=1").json
    assert [one["id"] for one in latest["data"]] == [run]
    assert latest["has_more"] in (True, False)
    assert "steps" not in latest["data"][0]
    assert "key" not in latest["data"][0]
    assert latest["data"][0]["calls"] == 3
    everyone = place.get("/v1/runs?limit=2", "admin").json["data"]
    assert [(one["key"], one["id"]) for one in everyone] == [("k2", run), ("k1", run)]
    of_one = place.get("/v1/runs?limit=1&key=k1", "admin").json["data"]
    assert [(one["key"], one["calls"]) for one in of_one] == [("k1", 3)]
    assert place.gateway.get("/v1/runs").status == 401
    for path in ("/v1/runs?limit=0", "/v1/runs?limit=many", "/v1/runs?limit=1001"):
        wrong = place.get(path)
        assert (wrong.status, wrong.json["error"]["param"]) == (400, "limit")
    for unknown, key in (("state", "k1"), ("key", "k1"), ("page", "admin")):
        wrong = place.get(f"/v1/runs?{unknown}=x", key)
        assert (wrong.status, wrong.json["error"]["param"]) == (400, unknown)
    told = place.send("/v1/runs/none", method="DELETE", **{"anthropic-version": "2023-06-01"})
    assert (told.status, told.json["error"]["type"]) == (404, "not_found_error")


def test_runs_are_erased_one_by_one_by_session_and_all(place: Place, run: str) -> None:
    for number in (1, 2, 3):
        place.chat(f"{run} {number}", headers={"x-lockgate-session": f"{run} {number // 2}"})
        place.chat(f"{run} {number}", "k2")
    assert place.send("/v1/runs?sesion=x", method="DELETE").status == 400
    assert place.send(at(f"{run} 1"), method="DELETE").json["erased"] == 1
    assert place.send(at(f"{run} 1"), method="DELETE").status == 404
    by_session = place.send(f"/v1/runs?session={quote(f'{run} 1')}", method="DELETE")
    assert by_session.json["erased"] == 2
    assert place.get(f"/v1/sessions/{quote(f'{run} 1')}").status == 404
    assert place.get(at(f"{run} 2"), "k2").status == 200
    place.chat(f"{run} 1")
    assert place.send("/v1/runs", method="DELETE").json["erased"] >= 1
    assert place.get("/v1/runs").json["data"] == []
    assert place.get("/v1/sessions").json["data"] == []
    assert place.send("/admin/runs?key=k2", method="DELETE").status == 401
    assert place.send("/admin/runs", method="DELETE", key="admin").status == 400
    assert place.send("/admin/runs?key=k2", method="DELETE", key="admin").json["erased"] >= 3
    assert place.get("/v1/runs", "admin").json["data"] == []


def test_what_is_at_work_when_it_is_erased_leaves_nothing(place: Place, run: str) -> None:
    place.send("/v1/runs", method="DELETE")
    before = len(place.upstream.asked)
    place.upstream.chooses(lambda asked: answer(asked).later(9))
    try:
        at_work = place.send(CHAT, _body(), **{"x-lockgate-run": run, "prefer": "respond-async"})
        assert at_work.status == 202
        assert eventually(lambda: len(place.upstream.asked) > before)
        assert place.send("/v1/runs", method="DELETE").json["erased"] == 1
        assert place.get(at(run)).status == 404
        assert place.get("/v1/runs").json["data"] == []
    finally:
        place.upstream.chooses(answer)
    assert place.draws(run).status == 200, "its name is free at once"
    assert [step["attempts"] for step in place.get(at(run)).json["steps"]] == [1] * 3


def _body() -> Json:
    said = [{"role": "user", "content": "What is 6 * 7?"}]
    return {"model": "oa-model", "messages": said, "reliability": DRAWS}


def test_the_command_lists_and_erases_where_runs_last(place: Place, run: str) -> None:
    place.chat(run)
    place.chat(f"{run} 2", "k2")
    durability = place.gateway.config["journal"]["durability"]
    if durability == "memory":
        assert "DELETE /admin/runs" in _command(place, ["erase", "--key", "k1"], status=2)
        return
    assert run in _command(place, ["list", "--key", "k1"])
    assert (
        orjson.loads(_command(place, ["list", "--limit", "1", "--json"]))["runs"][0]["key"] == "k2"
    )
    assert _command(place, ["erase", "--key", "k1"]).startswith("Erased ")
    assert place.get(at(run)).status == 404
    assert place.get(at(f"{run} 2"), "k2").status == 200


def _command(place: Place, words: list[str], status: int = 0) -> str:
    command = [sys.executable, "-m", "gateway.cli", "runs", *words, "-c", str(place.config)]
    env = {
        "OA_KEY": "a",
        "AN_KEY": "b",
        "RS_KEY": "c",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_runs_of_a_key_that_is_kept_apart_go_on_and_lie_nowhere(
    tmp_path: Path, valkey: Valkey, run: str, kind: str
) -> None:
    word = f"word-{uuid4().hex}"
    said: Json = [{"role": "user", "content": word}]
    with _place(tmp_path, kind, valkey, k2={"journal": "memory"}) as place:
        first = place.chat(run, "k2", reliability=DRAWS, messages=said)
        paid = len(place.upstream.asked)
        again = place.chat(run, "k2", reliability=DRAWS, messages=said)
        assert len(place.upstream.asked) == paid == 3
        assert first.json["choices"] == again.json["choices"]
        assert first.headers["x-lockgate-durability"] == "memory"
        assert place.get(at(run), "k2").json["state"] == "completed"
        assert [one["id"] for one in place.get("/v1/runs", "k2").json["data"]] == [run]
        assert not _holds(tmp_path, valkey, word)

        lasting = place.chat(run, "k1", reliability=DRAWS, messages=said)
        assert "x-lockgate-durability" not in lasting.headers
        assert _holds(tmp_path, valkey, word)
        keys = {one["key"] for one in place.get("/v1/runs", "admin").json["data"]}
        assert keys >= {"k1", "k2"}
        assert place.send("/v1/runs", method="DELETE", key="k2").json["erased"] >= 1
        assert place.get(at(run), "k2").status == 404
        assert place.get(at(run)).status == 200


def _holds(folder: Path, valkey: Valkey, word: str) -> bool:
    """Return whether *word* is in what lasts of a gateway."""
    client = redis.Redis.from_url(valkey.url)
    hashes = [client.hvals(key) for key in client.scan_iter("*:run:*")]
    client.close()
    kept = [path.read_bytes() for path in folder.glob("kept.db*")]
    return any(word.encode() in one for one in (*kept, *(v for vs in hashes for v in vs)))


def test_a_key_of_the_database_is_kept_apart_as_soon_as_that_is_said(
    tmp_path: Path, valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _place(tmp_path, "sqlite", valkey) as place:
        made = place.send("/admin/keys", {"name": "made", "journal": "memory"}, key="admin")
        assert (made.status, made.json["journal"]) == (201, "memory")
        monkeypatch.setitem(KEYS, "made", made.json["key"])
        assert place.draws("r", "made").headers["x-lockgate-durability"] == "memory"
        told = place.send("/admin/keys/made", {"journal": None}, "PATCH", "admin")
        assert told.json["journal"] is None
        assert eventually(lambda: place.get(at("r"), "made").status == 404)  # the gateway is told
        assert "x-lockgate-durability" not in place.draws("r", "made").headers


def test_runs_are_listed_a_page_at_a_time_while_others_begin(place: Place, run: str) -> None:
    session = f"s {run}"
    for number in range(5):
        place.chat(f"{run} {number}", headers={"x-lockgate-session": session})
    found: list[str] = []
    cursor: str | None = None
    query = f"/v1/runs?limit=2&session={quote(session)}"
    for size, has_more in ((2, True), (2, True), (1, False)):
        page = place.get(query + (f"&cursor={cursor}" if found else "")).json
        assert (len(page["data"]), page["has_more"]) == (size, has_more)
        found += [one["id"] for one in page["data"]]
        cursor = page["next_cursor"]
        place.chat(f"{run} late {len(found)}", headers={"x-lockgate-session": session})
    assert cursor is None
    assert found == [f"{run} {number}" for number in (4, 3, 2, 1, 0)]

    refused = place.get(f"{query}&cursor=odd")
    assert (refused.status, refused.json["error"]["param"]) == (400, "cursor")
    all_of_it = place.get("/v1/runs?limit=1", "admin").json
    more = place.get(f"/v1/runs?limit=1&cursor={all_of_it['next_cursor']}", "admin").json
    assert more["data"][0]["id"] != all_of_it["data"][0]["id"]


def test_runs_that_are_encrypted_with_another_key_are_told_of_listed_and_erased(
    tmp_path: Path, valkey: Valkey
) -> None:
    stated = {"encryption": ["file:journal.key"]}
    key = tmp_path / "journal.key"
    key.write_text("01" * 32)
    with _place(tmp_path, "sqlite", valkey, journal=stated) as place:
        first = place.draws("r")
        assert place.draws("r").json["choices"] == first.json["choices"]
        assert len(place.upstream.asked) == 3
        place.draws("s")
    assert not [path for path in tmp_path.glob("kept.db*") if b"What is 6" in path.read_bytes()]

    key.write_text("02" * 32)
    with _place(tmp_path, "sqlite", valkey, journal=stated) as place:
        for reply in (place.get(at("r")), place.chat("r", reliability=DRAWS)):
            assert (reply.status, reply.json["error"]["code"]) == (503, "journal_sealed")
        assert place.upstream.asked == []
        listed = place.get("/v1/runs").json["data"]
        assert {(run["id"], run["state"], run["calls"]) for run in listed} == {
            ("r", "completed", 3),
            ("s", "completed", 3),
        }
        assert place.send(at("r"), method="DELETE").json == {"erased": 1}
        assert place.send(at("r"), method="DELETE").status == 404
        assert place.send("/v1/runs", method="DELETE").json == {"erased": 1}
