"""The instruments themselves, played against each other without a gateway."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from techniques.core.json import Json
from tests.fakes import script
from tests.fakes.client import CutOff, Exchange, Splitter, dial, request, strict
from tests.fakes.script import End, Framing, Until, sse, text
from tests.fakes.upstream import ScriptedUpstream, dead_port
from tests.patience import SOON_S, eventually


@pytest.fixture
def upstream(upstream_process: ScriptedUpstream) -> Iterator[ScriptedUpstream]:
    upstream_process.forget()
    yield upstream_process
    upstream_process.forget()


def ask(upstream: ScriptedUpstream, body: bytes = b'{"model":"m"}') -> Exchange:
    """Send a request straight to *upstream*."""
    return Exchange(upstream.port, request("/v1/x", body, {"x-odd": "1"}))


def test_a_request_is_remembered_as_it_came(upstream: ScriptedUpstream) -> None:
    upstream.plays(script.completion("fine"))

    answer = ask(upstream, b'{"model":"m","x":[1]}').whole()

    assert answer.json["choices"][0]["message"]["content"] == "fine"
    (asked,) = upstream.asked
    assert (asked.method, asked.path, asked.header("x-odd")) == ("POST", "/v1/x", "1")
    assert asked.body == {"model": "m", "x": [1]}


def test_a_chunked_request_is_put_together(upstream: ScriptedUpstream) -> None:
    upstream.plays(script.completion())
    head = request("/v1/x", None, {"transfer-encoding": "chunked"})

    Exchange(upstream.port, head + b'5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n').whole()

    assert upstream.asked[0].body == {"a": 1}


@pytest.mark.parametrize("framing", ["chunked", "close", "length"])
def test_writes_arrive_when_they_are_made(upstream: ScriptedUpstream, framing: Framing) -> None:
    came: list[Json] = []
    before = Until(lambda: framing == "length" or bool(came))
    upstream.plays(sse(text("a"), before, text("b"), framing=framing))

    with ask(upstream) as answer:
        if framing == "length":
            assert answer.whole().body == text("a") + text("b")
            return
        for event in answer.events():
            came.append(event.json["choices"][0]["delta"]["content"])

    assert came == ["a", "b"]


@pytest.mark.parametrize("end", ["fin", "reset"])
def test_an_answer_can_end_short(upstream: ScriptedUpstream, end: End) -> None:
    upstream.plays(sse(text("a"), end=end))

    with ask(upstream) as answer:
        pieces = answer.pieces()
        assert next(pieces) == text("a")
        with pytest.raises(CutOff if end == "fin" else ConnectionResetError):
            next(pieces)


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_peer_that_leaves_is_noticed(upstream: ScriptedUpstream, how: str) -> None:
    upstream.plays(sse(text("a"), end="hold"))
    others = upstream.open

    with ask(upstream) as answer:
        next(answer.pieces())
        assert upstream.busy == 1
        left = answer.leave() if how == "close" else answer.reset()

    asked = upstream.asked[0]
    assert eventually(lambda: asked.left is not None)
    assert abs((asked.left or 0) - left) < SOON_S
    assert eventually(lambda: upstream.busy == 0 and upstream.open <= others)


def test_answers_for_a_model_wait_for_it(upstream: ScriptedUpstream) -> None:
    upstream.plays(script.completion("for n").only_for("n"), script.completion("for any"))

    first, second = ask(upstream).whole(), ask(upstream, b'{"model":"n"}').whole()

    assert b"for any" in first.body
    assert b"for n" in second.body


def test_a_call_too_many_is_noticed(upstream: ScriptedUpstream) -> None:
    assert ask(upstream).whole().status == 500
    assert upstream.unscripted == 1


def test_two_requests_share_a_connection(upstream: ScriptedUpstream) -> None:
    upstream.plays(script.completion(), script.completion())
    one = request("/v1/x", b"{}", {})

    with dial(upstream.port, one + one):
        assert eventually(lambda: len(upstream.asked) == 2)

    assert len({asked.connection for asked in upstream.asked}) == 1


def test_a_dead_port_refuses() -> None:
    held, port = dead_port()

    with held, pytest.raises(ConnectionRefusedError):
        dial(port, b"")


def test_the_splitter_splits_at_three_line_ends_and_nothing_else() -> None:
    splitter = Splitter()
    whole = "event: x\r\ndata: a\u2028\x85b\r\r: note\ndata:c\ndata: d\n\ndata\n\n".encode()

    cut = [event for at in range(len(whole)) for event in splitter.feed(whole[at : at + 1])]

    assert [(event.name, event.data) for event in cut] == [
        ("x", "a\u2028\x85b"),
        (None, "c\nd"),
        (None, ""),
    ]
    assert cut[1].comments == ("note",)


@pytest.mark.parametrize("bad", [b"NaN", b'"\xff"', rb'"\ud800"', b"[1,]", b""])
def test_only_strict_json_is_read(bad: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        strict(bad)


def test_an_answer_can_be_late(upstream: ScriptedUpstream) -> None:
    upstream.plays(script.completion().later(0.1))
    started = time.monotonic()

    ask(upstream).whole()

    assert time.monotonic() - started > 0.09
