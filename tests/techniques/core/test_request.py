from __future__ import annotations

import pytest

from techniques.core.json import NOTHING
from techniques.core.request import Image, Message, Relay, Request, Sampling, Text, said


def test_a_request_without_a_relayed_body_is_whole_already() -> None:
    request = Request("m", (said("user", "hi"),))

    assert request.decoded() is request


def test_a_relayed_body_is_decoded_and_what_was_planned_is_kept() -> None:
    sampling = Sampling(temperature=0.5)
    body = Request("theirs", (said("user", "hi"),), sampling=sampling, user="u", dialect="d")
    relay = Relay("d", b"{}", {}, lambda: body)
    headers = {"anthropic-beta": "x"}
    planned = Request(
        "ours", stream=True, role="judge", step="7", strict=True, headers=headers, relay=relay
    )

    full = planned.decoded()

    assert (full.model, full.stream, full.role, full.step) == ("ours", True, "judge", "7")
    assert (full.strict, full.headers, full.relay) == (True, headers, None)
    assert (full.messages, full.sampling, full.user) == (body.messages, sampling, "u")
    assert full.dialect == "d"


def test_turns_are_added_at_the_end_of_a_new_request() -> None:
    request = Request("m", (said("user", "1"),))

    longer = request.with_turns(said("assistant", "2"), said("user", "3"))

    assert [message.text for message in longer.messages] == ["1", "2", "3"]
    assert len(request.messages) == 1


def test_a_turns_text_is_that_of_its_text_parts() -> None:
    assert Message("user", (Text("a"), Image(url="x"), Text("b"))).text == "ab"


def test_the_empty_object_is_empty_hashable_and_has_a_name() -> None:
    assert len(NOTHING) == 0
    assert list(NOTHING) == []
    assert NOTHING == {}
    assert hash(NOTHING) == hash(NOTHING)
    assert repr(NOTHING) == "NOTHING"
    with pytest.raises(KeyError, match="x"):
        NOTHING["x"]


def test_requests_can_be_compared_and_hashed() -> None:
    assert {Request("m"), Request("m")} == {Request("m")}
