from __future__ import annotations

from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.responses.frames import Frames
from techniques.core.json import JsonObject

SAYS = {"store": True, "previous_response_id": "resp_0"}
TOLD = {"object": "response", "id": "resp_1", "store": False, "output": [{"text": "\n\n"}]}
NESTED = 'it says "response":{"object":"response"} \n\n data: {"response":{}}'


def frame(kind: str, **fields: object) -> bytes:
    body = orjson.dumps({"type": kind, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), body)


STREAM = (
    frame("response.created", response=TOLD)
    + b": ping\n\n"
    + frame("response.output_text.delta", delta=NESTED)
    + b'data: {"type":"other","response":{"object":"else"}}\n\n'
    + frame("response.completed", response=TOLD | {"status": "completed"})
)


def events(data: bytes) -> list[JsonObject]:
    lines = data.split(b"\n")
    return [orjson.loads(line[5:]) for line in lines if line.startswith(b"data:")]


@given(
    st.lists(st.integers(0, 2 * len(STREAM)), max_size=12).map(sorted),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
)
def test_a_stream_is_read_along_wherever_it_is_cut(cuts: list[int], end: bytes) -> None:
    frames = Frames(SAYS)
    stream = STREAM.replace(b"\n", end)
    places = [0, *(cut for cut in cuts if cut < len(stream)), len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(places)]

    passed = b"".join(map(frames.pass_on, pieces)) + frames.rest()

    expected = events(STREAM)
    for place in (0, -1):
        expected[place]["response"] |= SAYS
    assert events(passed) == expected
    assert passed.count(b"\n\n") == STREAM.count(b"\n\n")
    assert frames.has_ended
    assert frames.told == TOLD | SAYS | {"status": "completed"}


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_no_frame_waits_for_the_next(end: bytes) -> None:
    frames = Frames(SAYS)
    for piece in STREAM.split(b"\n\n")[:-1]:
        whole = (piece + b"\n\n").replace(b"\n", end)
        passed = frames.pass_on(whole)
        assert passed.endswith(b"\n\n")
        assert len(events(passed)) == len(events(piece))


def test_a_stream_of_which_nothing_is_to_be_said_is_passed_on_as_it_is() -> None:
    frames = Frames({})
    assert frames.pass_on(STREAM) == STREAM
    assert frames.told == TOLD | {"status": "completed"}


@pytest.mark.parametrize("rest", [b"data: {", b"event: response.completed\ndata: {}"])
def test_a_frame_that_is_not_whole_is_held_until_the_end(rest: bytes) -> None:
    frames = Frames(SAYS)
    assert frames.pass_on(rest) == b""
    assert frames.rest() == rest
    assert frames.rest() == b""


def test_what_cannot_be_read_is_passed_on() -> None:
    odd = b'data: {"response":{"object":"response"\n\n'
    assert Frames(SAYS).pass_on(odd) == odd
