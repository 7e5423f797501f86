"""The gateway as a process before a server of llama.cpp, over real sockets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import openai
import pytest

from techniques.core.json import Json
from tests.conformance.stage import summed
from tests.fakes.gateway import KEYS, Gateway, hashed
from tests.fakes.llama_cpp import LlamaServer, played
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked, ScriptedUpstream
from tests.patience import PATIENCE_S

STORY = "once upon a time there was a fox that met a dog by the river at night"


@dataclass
class Home:
    folder: Path
    llama: LlamaServer
    upstream: ScriptedUpstream
    gateway: Gateway

    def client(self, key: str = "k1") -> openai.OpenAI:
        url = f"http://127.0.0.1:{self.gateway.port}/v1"
        return openai.OpenAI(base_url=url, api_key=KEYS[key], max_retries=0)

    def say(self, text: str, session: str | None, *, key: str = "k1", **more: Json) -> Json:
        """Ask as *session* of *key*; return the answer's headers."""
        headers = {} if session is None else {"x-lockgate-session-id": session}
        messages: Json = [{"role": "user", "content": text}]
        with self.client(key) as client:
            answer = client.chat.completions.with_raw_response.create(
                model="local",
                messages=messages,
                extra_headers=headers,
                **more,
            )
            assert answer.parse() is not None
        return dict(answer.headers)

    def total(self, name: str, **labels: str) -> float:
        page = self.gateway.get("/metrics").body.decode().splitlines()
        return summed(page, name, **labels)


def config(port: int, folder: Path, **kv: Json) -> dict[str, Json]:
    host: Json = {
        "poll_s": "50ms",
        "kv": {"folder": str(folder), "min_tokens": 8, "min_free": 0, "tenants": "folders", **kv},
    }
    power: Json = {"watts": 360, "usd_per_kwh": 0.5, "hourly_usd": 0.18, "tokens_per_s": 50}
    return {
        "server": {"host": "127.0.0.1", "port": 0},
        "providers": {
            "llama": {
                "dialect": "openai_chat",
                "base_url": f"http://127.0.0.1:{port}/v1",
                "allow_private": True,
                "llama_cpp": host,
            }
        },
        "models": [{"name": "local", "provider": "llama", "local_power": power}],
        "keys": [{"name": name, "hash": hashed(key)} for name, key in KEYS.items()],
        "upstream": {"retries": 0},
        "database": {"url": "none"},
    }


def opened(root: Path) -> Iterator[Home]:
    folder, model = root / "slots", root / "small.gguf"
    folder.mkdir()
    model.write_text("weights")
    llama = LlamaServer(folder, model=str(model))
    with ScriptedUpstream() as upstream:
        upstream.chooses(partial(played, llama))
        with Gateway(root, config(upstream.port, folder)) as gateway:
            yield Home(folder, llama, upstream, gateway)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """One gateway for the tests whose sessions have names of their own."""
    yield from opened(tmp_path_factory.mktemp("home"))


@pytest.fixture
def home(shared: Home) -> Home:
    shared.upstream.chooses(partial(played, shared.llama))
    shared.llama.asked.clear()
    return shared


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Home]:
    yield from opened(tmp_path)


def test_sessions_give_way_to_each_other_and_none_computes_its_prompt_twice(home: Home) -> None:
    moves = {"what": "restore", "outcome": "restored"}
    restored = home.total("lockgate_kv_moves_total", **moves)
    spared = home.total("lockgate_prompt_tokens_spared_total")
    for round_ in range(3):
        for session in ("a", "b", "c"):
            home.say(f"{session} {STORY}" + " and then" * round_, session)
    told = home.llama.calls()

    assert {call["id_slot"] for call in told} == {0, 1}
    assert home.total("lockgate_kv_moves_total", **moves) - restored == 6
    spared = home.total("lockgate_prompt_tokens_spared_total") - spared
    assert spared >= 6 * len(STORY.split())
    assert {path.parent.name[:2] for path in home.folder.rglob("*.bin")} == {"t-"}


def test_a_streamed_call_sits_in_its_sessions_slot_too(home: Home) -> None:
    home.say(f"streamed {STORY}", "streamed")
    spared = home.total("lockgate_prompt_tokens_spared_total")
    messages: Json = [{"role": "user", "content": f"streamed {STORY} again"}]
    headers = {"x-lockgate-session": "streamed"}
    with home.client() as client:
        stream = client.chat.completions.create(
            model="local", messages=messages, stream=True, extra_headers=headers
        )
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    first, second = home.llama.calls()

    assert text == "fine"
    assert first["id_slot"] == second["id_slot"]
    spared = home.total("lockgate_prompt_tokens_spared_total") - spared
    assert spared == len(STORY.split()) + 2


def test_sessions_of_two_keys_with_one_name_are_two(home: Home) -> None:
    home.say(STORY, "same")
    home.say(STORY, "same", key="k2")
    first, second = home.llama.calls()

    assert first["id_slot"] != second["id_slot"]


def test_no_more_calls_are_under_way_than_there_are_slots(home: Home) -> None:
    lock, most = threading.Lock(), [0]

    def slowly(asked: Asked) -> Answer:
        answer = played(home.llama, asked)
        if not asked.path.endswith("/completions"):
            return answer
        with lock:
            most.append(home.upstream.busy)
        return answer.later(0.3)

    home.upstream.chooses(slowly)
    threads = [threading.Thread(target=home.say, args=(STORY, None)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)

    assert len(home.llama.calls()) == 5
    assert max(most) <= 3  # two calls, and a look at the slots
    assert home.total("lockgate_window_remaining_ratio", dimension="concurrency") <= 1
    assert home.total("lockgate_pauses_total", reason="concurrency", outcome="resumed") >= 1


def test_a_token_costs_what_the_machine_costs(home: Home) -> None:
    spared = home.total("lockgate_prompt_tokens_spared_total")
    headers = home.say("one two three", None)
    spared = home.total("lockgate_prompt_tokens_spared_total") - spared

    assert headers["x-lockgate-cost-source"] == "local_power"
    hourly = 0.36 * 0.5 + 0.18
    assert float(headers["x-lockgate-cost-usd"]) == pytest.approx(
        (6 - spared) * hourly / (50 * 3600)
    )


def test_a_gateway_that_stops_leaves_its_sessions_to_the_next(tmp_path: Path, own: Home) -> None:
    own.say(STORY, "a")
    own.gateway.stop()
    own.llama.restart()
    (tmp_path / "next").mkdir()

    with Gateway(tmp_path / "next", own.gateway.config) as gateway:
        own.gateway = gateway
        own.say(f"{STORY} again", "a")

        assert own.total("lockgate_kv_moves_total", outcome="restored") == 1
        assert own.total("lockgate_prompt_tokens_spared_total") == len(STORY.split()) + 1


def test_a_server_that_is_down_at_the_start_is_used_when_it_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "slots"
    folder.mkdir()
    llama = LlamaServer(folder, count=0)
    with ScriptedUpstream() as upstream:
        upstream.chooses(partial(played, llama))
        with Gateway(tmp_path, config(upstream.port, folder)) as gateway:
            llama.count = 1
            llama.restart()
            home = Home(folder, llama, upstream, gateway)
            for _ in range(50):
                home.say(STORY, "a")
                if "id_slot" in llama.calls()[-1]:
                    break

            assert llama.calls()[-1]["id_slot"] == 0
