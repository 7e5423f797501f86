"""An answer with embeddings is passed on as it came; what is none is a failure."""

from __future__ import annotations

import orjson
import pytest

from gateway.upstream.embeddings import sheet
from gateway.upstream.embeddings.call import encode
from gateway.upstream.embeddings.reader import EmbeddingsReader
from gateway.upstream.provider import Target
from pricing.usage import Usage
from techniques.core.capabilities import Capabilities
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event, Finished, Relayed, Started, UsageReported
from techniques.core.json import Json
from techniques.core.relayed import EMBEDDINGS
from techniques.core.request import Relay, Request
from tests.fakes.embeddings import answer_to

TARGET = Target("e", "p", "real-e")


_NO_VECTORS = (
    *(b'["x"]', b"[true]", b"[false]", b"[{}]", b"{}", b"5", b"null"),
    *(b'"no base64"', b'"AACAfw=="', b'"AACA"'),  # the second is infinity, the third half a number
)


def _two(vector: bytes) -> bytes:
    return b'{"data": [{"embedding": %b}, {"embedding": %b}]}' % (vector, vector)


def relay(**fields: Json) -> Relay:
    body = {"model": "e", "input": ["a", "b c"], **fields}
    return Relay(EMBEDDINGS, orjson.dumps(body), body, lambda: Request("e"))


def read(body: bytes, asked: Relay | None = None) -> list[Event]:
    reader = EmbeddingsReader(asked or relay())
    events = [event for at in range(len(body)) for event in reader.feed(body[at : at + 1])]
    return [*events, *reader.end()]


def failure(body: bytes) -> UpstreamFailed:
    with pytest.raises(UpstreamFailed) as raised:
        read(body)
    return raised.value


def test_bytes_are_passed_on_and_usage_is_read() -> None:
    body = orjson.dumps(answer_to({"model": "real-e", "input": ["a", "b c"]}))

    assert read(body) == [
        Started(model="real-e"),
        Relayed(body),
        UsageReported(Usage(input_tokens=3)),
        Finished(),
    ]


@pytest.mark.parametrize(("asked", "given"), [("base64", "float"), (None, "base64")])
def test_the_other_form_is_written_as_it_was_asked_for(asked: str | None, given: str) -> None:
    body = orjson.dumps(answer_to({"model": "e", "input": ["a", "b c"]}, form=given))
    wanted = answer_to({"model": "e", "input": ["a", "b c"]}, form=asked or "float")

    (told,) = [e for e in read(body, relay(encoding_format=asked)) if isinstance(e, Relayed)]

    assert orjson.loads(told.raw) == wanted


def test_hosts_that_tell_only_the_total_are_counted() -> None:
    answer = answer_to({"model": "e", "input": ["a", "b c"]}) | {"usage": {"total_tokens": 9}}

    assert UsageReported(Usage(input_tokens=9)) in read(orjson.dumps(answer))


def test_an_answer_without_usage_reports_none() -> None:
    answer = answer_to({"model": "e", "input": ["a", "b c"]})
    del answer["usage"]

    assert not [e for e in read(orjson.dumps(answer)) if isinstance(e, UsageReported)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "is not JSON"),
        (b"<html>", "is not JSON"),
        (b"[1]", "is not a JSON object"),
        (b'{"data": []}', "has 0 embeddings for 2 inputs"),
        (b'{"data": [{"embedding": [1]}, {"embedding": [NaN]}]}', "is not all numbers"),
        (b'{"data": [{"embedding": [1]}, {"embedding": [null]}]}', "is not all numbers"),
        *((_two(vector), "is not all numbers") for vector in _NO_VECTORS),
    ],
)
def test_what_is_no_answer_may_be_asked_for_again(body: bytes, message: str) -> None:
    failed = failure(body)

    assert message in failed.message
    assert (failed.kind, failed.retryable) == ("invalid_answer", True)


def test_a_failure_inside_an_answer_is_told_with_what_it_used() -> None:
    error = {"message": "Slow down", "type": "rate_limit_error"}
    failed = failure(orjson.dumps({"error": error, "usage": {"prompt_tokens": 3}}))

    assert (failed.kind, failed.said.usage) == ("rate_limited", Usage(input_tokens=3))


def test_only_the_name_of_the_model_is_changed() -> None:
    call = encode(relay(dimensions=4, encoding_format="base64", user="u"), TARGET)

    assert call.path == "/embeddings"
    assert orjson.loads(call.body) == {
        "model": "real-e",
        "input": ["a", "b c"],
        "dimensions": 4,
        "encoding_format": "base64",
        "user": "u",
    }


def test_a_body_that_needs_no_change_goes_as_it_came() -> None:
    asked = relay(model="real-e")

    assert encode(asked, TARGET).body is asked.raw


def test_a_host_that_writes_no_base64_is_not_asked_for_it() -> None:
    target = Target("e", "p", "e", Capabilities(base64=False))

    call = encode(relay(encoding_format="base64"), target)

    assert orjson.loads(call.body) == {"model": "e", "input": ["a", "b c"]}


def test_vectors_that_are_no_plain_lists_are_passed_on() -> None:
    rows = [{"index": place, "embedding": [[1, 2], [3]]} for place in range(2)]
    body = orjson.dumps({"data": rows, "usage": {"prompt_tokens": 3}})

    for form in ("float", "base64"):
        (told,) = [e for e in read(body, relay(encoding_format=form)) if isinstance(e, Relayed)]
        assert told.raw == body


@pytest.mark.parametrize(("asked", "given"), [("float", "float"), ("base64", "float")])
def test_a_large_answer_is_handed_on_in_pieces(asked: str, given: str) -> None:
    texts = ["word " * 40] * 9000
    body = orjson.dumps(answer_to({"model": "e", "input": texts}, form=given))
    reader = EmbeddingsReader(relay(input=texts, encoding_format=asked))
    for at in range(0, len(body), 100_000):
        list(reader.feed(body[at : at + 100_000]))

    pieces = [event.raw for event in reader.end() if isinstance(event, Relayed)]

    assert len(pieces) > 3
    assert max(map(len, pieces)) <= 200_000
    assert orjson.loads(b"".join(pieces)) == answer_to({"model": "e", "input": texts}, form=asked)


def test_a_text_that_no_base64_is_asked_for_may_stand_there_but_no_object() -> None:
    asked = relay(encoding_format="base64")

    assert read(_two(b'"AACAPw=="'), asked)
    for vector in (b"{}", b'["x"]'):
        with pytest.raises(UpstreamFailed, match="is not all numbers"):
            read(_two(vector), asked)


def test_a_vector_without_an_end_is_not_read_as_one() -> None:
    assert "is not JSON" in failure(b'{"data": [{"embedding": [1, 1').message


def test_what_is_no_vector_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "_MOST_FRAME", 10_000)
    assert "is not JSON" in failure(b" " * 9_000).message

    assert "has no end" in failure(b" " * 11_000).message
