"""Responses in the background: they go on without their clients, and outlive their gateway."""

from __future__ import annotations

import re
import signal
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import openai
import pytest

from tests.e2e.stored import Pair, paired
from tests.e2e.turns import Turn
from tests.fakes import script
from tests.fakes.client import Reply
from tests.fakes.gateway import Gateway
from tests.fakes.script import Answer, Wait
from tests.patience import eventually
from tests.services.postgres import Postgres

HELLO = Turn(parts=("Hello, ", "Zoë."))


def slowly(answer: Answer, seconds: float) -> Answer:
    """Return *answer* with a pause before each write."""
    writes = [one for write in answer.writes for one in (Wait(seconds), write)]
    return replace(answer, writes=tuple(writes))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("background")
    url = f"sqlite:///{folder}/kept.db"
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        url = server.database()
    with paired(folder, url, journal={"lease_s": 1.0}) as opened:
        yield opened


@pytest.mark.parametrize("model", ["oa-model", "an-model"])
def test_a_response_in_the_background_is_found_at_any_replica(pair: Pair, model: str) -> None:
    client = pair.client()
    pair.says(HELLO)

    begun = client.responses.create(model=model, input="Hello?", background=True)

    assert (begun.status, begun.background, begun.output) == ("queued", True, [])
    told = pair.ended(begun.id, place=1)
    assert (told.status, told.output_text, told.background) == ("completed", HELLO.text, True)
    assert (told.id, told.created_at) == (begun.id, begun.created_at)
    assert told.usage is not None
    client.responses.create(model=model, input="And?", previous_response_id=begun.id)
    assert [text for _, text in pair.sent()] == ["Hello?", HELLO.text, "And?"]


def test_a_technique_is_carried_out_in_the_background(pair: Pair) -> None:
    pair.says(Turn(parts=("42",)))
    before = len(pair.upstream.asked)

    begun = pair.client().responses.create(
        model="oa-model",
        input="What is 6 * 7?",
        background=True,
        extra_body={"reliability": {"technique": "self_consistency", "params": {"num_samples": 3}}},
    )

    told = pair.ended(begun.id)
    assert (told.status, told.output_text) == ("completed", "42")
    assert len(pair.upstream.asked) - before >= 2  # two of three agree


def test_a_streamed_one_goes_on_when_its_client_leaves(pair: Pair) -> None:
    client = pair.client()
    pair.says(HELLO, lambda answer: answer.later(0.3))

    with client.responses.create(
        model="oa-model", input="Hello?", background=True, stream=True
    ) as stream:
        first = next(iter(stream))
    assert first.type == "response.created"
    assert first.response.background is True

    told = pair.ended(first.response.id)
    assert (told.status, told.output_text) == ("completed", HELLO.text)


def test_a_stream_of_one_ends_with_what_is_kept(pair: Pair) -> None:
    client = pair.client()
    pair.says(HELLO)

    with client.responses.create(
        model="oa-model", input="Hello?", background=True, stream=True
    ) as stream:
        events = list(stream)
        last = events[-1]
        assert last.type == "response.completed"
        kept = client.responses.retrieve(last.response.id)

    assert kept.to_dict() == last.response.to_dict()
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_one_that_has_not_ended_says_so_and_does_not_go_on(pair: Pair) -> None:
    client = pair.client()
    pair.says(HELLO, lambda answer: answer.later(30))
    begun = client.responses.create(model="oa-model", input="Hello?", background=True)

    for place in (0, 1):
        told = pair.client(place).responses.retrieve(begun.id)
        assert told.status in ("queued", "in_progress")
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="oa-model", input="x", previous_response_id=begun.id)
    assert refused.value.code == "previous_response_not_ended"
    client.responses.cancel(begun.id)


@pytest.mark.parametrize("place", [0, 1], ids=["here", "elsewhere"])
def test_one_is_cancelled_at_any_replica_once_and_again(pair: Pair, place: int) -> None:
    pair.says(HELLO, lambda answer: answer.later(20))
    begun = pair.client().responses.create(model="oa-model", input="Hello?", background=True)

    for _ in range(2):
        told = pair.client(place).responses.cancel(begun.id)
        assert (told.id, told.status, told.output) == (begun.id, "cancelled", [])

    assert pair.client(1 - place).responses.retrieve(begun.id).status == "cancelled"


def test_one_that_is_waited_for_cannot_be_cancelled(pair: Pair) -> None:
    pair.says(HELLO)
    kept = pair.client().responses.create(model="oa-model", input="Hello?")
    with pytest.raises(openai.BadRequestError):
        pair.client().responses.cancel(kept.id)


def test_one_that_is_refused_has_failed(pair: Pair) -> None:
    pair.upstream.chooses(lambda _asked: script.error(400, "no such thing"))
    begun = pair.client().responses.create(model="oa-model", input="Hello?", background=True)

    told = pair.ended(begun.id)

    assert told.status == "failed"
    assert told.error is not None
    assert "no such thing" in told.error.message


def test_one_is_deleted_while_it_is_under_way(pair: Pair) -> None:
    pair.says(HELLO, lambda answer: answer.later(20))
    begun = pair.client().responses.create(model="oa-model", input="Hello?", background=True)

    pair.client().responses.delete(begun.id)

    with pytest.raises(openai.NotFoundError):
        pair.client().responses.retrieve(begun.id)
    assert pair.send("GET", f"/v1/runs/{begun.id}").status == 404


def test_it_wants_to_be_stored(pair: Pair) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        pair.client().responses.create(model="oa-model", input="x", background=True, store=False)
    assert refused.value.param == "background"


def test_it_outlives_its_gateway(tmp_path: Path) -> None:
    with paired(tmp_path, f"sqlite:///{tmp_path}/kept.db", 1, journal={"lease_s": 0.5}) as pair:
        pair.says(HELLO, lambda answer: answer.later(30))
        begun = pair.client().responses.create(model="an-model", input="Hello?", background=True)
        assert eventually(lambda: bool(pair.upstream.asked))
        killed = pair.gateways[0]
        killed.process.send_signal(signal.SIGKILL)
        killed.process.wait()
        pair.says(HELLO)

        own = tmp_path / "again"
        own.mkdir()
        with Gateway(own, killed.config, {"JOURNAL_KEY": "8d" * 32}) as again:
            pair.gateways[0] = again
            pair.clients.popitem()[1].close()
            told = pair.ended(begun.id)
            assert (told.status, told.output_text) == ("completed", HELLO.text)
            assert len(pair.upstream.asked) == 2


@pytest.mark.parametrize("place", [0, 1], ids=["here", "elsewhere"])
def test_who_comes_back_to_a_stream_gets_the_rest_of_it(pair: Pair, place: int) -> None:
    words = tuple(f"word{number} " for number in range(6))
    pair.says(Turn(parts=words), lambda answer: slowly(answer, 0.15))
    with pair.client().responses.create(
        model="oa-model", input="Hello?", background=True, stream=True
    ) as stream:
        first = []
        for event in stream:
            first.append(event)
            if event.type == "response.output_text.delta":
                break
    response_id = first[0].response.id  # type: ignore[union-attr]

    with pair.client(place).responses.retrieve(
        response_id, stream=True, starting_after=first[-1].sequence_number
    ) as again:
        rest = list(again)

    numbers = [event.sequence_number for event in (*first, *rest)]
    assert numbers == sorted(set(numbers))
    last = rest[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == "".join(words)
    if place == 0:
        deltas = [e.delta for e in (*first, *rest) if e.type == "response.output_text.delta"]
        assert deltas == list(words)
        assert numbers == list(range(len(numbers)))


def test_one_that_has_ended_is_streamed_as_a_whole(pair: Pair) -> None:
    pair.says(HELLO)
    begun = pair.client().responses.create(model="oa-model", input="Hello?", background=True)
    told = pair.ended(begun.id)

    with pair.client(1).responses.retrieve(begun.id, stream=True) as stream:
        events = list(stream)

    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == HELLO.text
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.to_dict() == told.to_dict()


def test_what_is_too_large_to_be_kept_is_no_fault_of_the_database(pair: Pair) -> None:
    body = {"model": "oa-model", "input": "x" * (2**23 - 100), "background": True}

    refused = pair.send("POST", "/v1/responses", script.dumps(body))

    assert (refused.status, refused.json["error"]["code"]) == (413, "request_too_large")
    assert "responses.max_size" in refused.json["error"]["message"]


LARGE = Turn(parts=("word " * 400,))
SMALL = {"store": "on", "max_size": 1500}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("small")
    with paired(folder, f"sqlite:///{folder}/kept.db", 1, responses=SMALL) as opened:
        yield opened


def gone_on_with(pair: Pair, response_id: str) -> Reply:
    """Go on with a response as soon as it has ended; nobody has looked at it before."""
    body = {"model": "oa-model", "input": "And?", "previous_response_id": response_id}
    told: list[Reply] = []

    def has_ended() -> bool:
        told.append(pair.send("POST", "/v1/responses", script.dumps(body)))
        if told[-1].status != 400:
            return True
        assert told[-1].json["error"]["code"] == "previous_response_not_ended"
        return False

    assert eventually(has_ended)
    return told[-1]


@pytest.mark.parametrize("model", ["oa-model", "rs-model"])
@pytest.mark.parametrize("stream", [False, True], ids=["alone", "listened to"])
def test_one_that_becomes_too_large_to_be_kept_has_failed(
    small: Pair, model: str, *, stream: bool
) -> None:
    client = small.client()
    small.says(LARGE, lambda answer: answer.later(0.2))
    body = {"model": model, "input": "Hello?", "background": True, "stream": stream}

    begun = small.send("POST", "/v1/responses", script.dumps(body))
    named = re.search(rb"resp_[0-9A-Za-z_-]+", begun.body)
    assert named is not None
    more = gone_on_with(small, named[0].decode())
    told = client.responses.retrieve(named[0].decode())

    assert (told.status, told.output) == ("failed", [])
    assert told.error is not None
    assert "responses.max_size is 1500" in told.error.message
    error = told.error.to_dict()
    assert (error["code"], error["type"]) == ("server_error", "response_too_large")
    assert client.responses.cancel(told.id).to_dict() == told.to_dict()
    with client.responses.retrieve(told.id, stream=True) as again:
        assert [event.type for event in again][-1] == "response.failed"
    assert small.send("GET", f"/v1/runs/{told.id}").json["state"] == "completed"
    assert more.status == 200
    assert stream == (b'"store":false' in begun.body)


def test_how_one_ends_is_kept_though_that_takes_more_than_its_input_left(small: Pair) -> None:
    small.upstream.chooses(lambda _asked: script.error(400, "no such thing " * 20))

    def begun(length: int) -> Reply:
        body = {"model": "oa-model", "input": "x" * length, "background": True}
        return small.send("POST", "/v1/responses", script.dumps(body))

    fits = bisect_left(range(1500), 413, key=lambda length: begun(length).status) - 1
    last = begun(fits)
    told = small.ended(last.json["id"])

    assert (last.status, begun(fits + 1).status) == (200, 413)
    assert (told.status, told.output) == ("failed", [])
    assert told.error is not None
    assert "no such thing" in told.error.message
    small.says(HELLO)
    assert gone_on_with(small, told.id).status == 200
