"""Any split of a request keeps the order of its inputs and the sum of its usage."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.embeddings.batches import (
    Batch,
    count_of,
    joined,
    most_tokens,
    parts_of,
    summed,
)
from gateway.upstream.embeddings.sheet import scanned
from techniques.core.json import Json
from techniques.core.relayed import EMBEDDINGS
from techniques.core.request import Relay, Request
from tests.fakes.embeddings import answer_to, tokens_of

WORDS = st.text("ab ü", min_size=1, max_size=30)
TOKENS = st.lists(st.integers(0, 100_000), min_size=1, max_size=30)
MANY: st.SearchStrategy[Any] = st.lists(WORDS, min_size=1, max_size=12) | st.lists(
    TOKENS, min_size=1, max_size=12
)
ANY = WORDS | TOKENS | MANY
BATCHES = st.builds(Batch, st.integers(1, 5), st.integers(1, 40))


def asked(given_input: Json) -> Request:
    body = {"model": "m", "input": given_input}
    relay = Relay(EMBEDDINGS, orjson.dumps(body), body, lambda: Request("m"))
    return Request("m", relay=relay)


def inputs(request: Request) -> Json:
    assert request.relay is not None
    raw = request.relay.raw
    assert raw is not None
    assert orjson.loads(raw) == request.relay.body
    return request.relay.body["input"]


@given(ANY, BATCHES)
def test_parts_have_all_inputs_in_order_and_each_keeps_to_its_bounds(
    given_input: Json, most: Batch
) -> None:
    parts = list(map(inputs, parts_of(asked(given_input), most)))

    if len(parts) == 1:
        assert parts == [given_input]
        return
    assert [one for part in parts for one in part] == given_input
    for part in parts:
        sizes = [len(one) if isinstance(one, list) else -(-len(one.encode()) // 2) for one in part]
        assert len(part) <= most.inputs
        assert len(part) == 1 or sum(sizes) <= most.tokens


@given(MANY, BATCHES, st.sampled_from(["float", "base64"]), st.randoms(use_true_random=False))
def test_the_joined_answer_is_that_of_one_call(
    given_input: Json, most: Batch, form: str, random: Any
) -> None:
    parts = [inputs(part) for part in parts_of(asked(given_input), most)]
    told = [answer_to({"model": "m", "input": part}, form=form) for part in parts]
    for answer in told:
        random.shuffle(answer["data"])

    whole = orjson.loads(b"".join(joined([scanned([orjson.dumps(answer)]) for answer in told])))

    assert whole == answer_to({"model": "m", "input": given_input}, form=form)
    assert whole["usage"]["prompt_tokens"] == sum(map(tokens_of, given_input))


def test_tokens_are_bounded_by_the_size_of_texts_and_counted_where_they_are_tokens() -> None:
    assert most_tokens("word " * 100) == 252
    assert most_tokens(["ü" * 10, ""]) == 14
    assert most_tokens([5, 6, 7]) == 5
    assert most_tokens([[5, 6], [7]]) == 7


def test_inputs_are_counted() -> None:
    assert count_of("one text") == 1
    assert count_of([1, 2, 3]) == 1
    assert count_of(["a", "b"]) == 2
    assert count_of([[1], [2, 3], [4]]) == 3


def test_a_request_that_fits_is_itself() -> None:
    request = asked(["a"] * 2048)

    assert parts_of(request, Batch()) == (request,)
    assert len(parts_of(asked(["a"] * 2049), Batch())) == 2


def test_parts_are_steps_of_their_own() -> None:
    steps = [part.step for part in parts_of(asked(["a"] * 5), Batch(inputs=2))]

    assert steps == ["0.0", "0.1", "0.2"]


def test_counts_of_all_depths_are_summed_and_what_is_none_stays() -> None:
    one = {"prompt_tokens": 3, "details": {"text": 1}, "cost": 0.5, "unit": "t"}
    other = {"prompt_tokens": 4, "details": {"text": 2, "image": 1}, "cost": 0.25, "extra": 1}

    assert summed(one, other) == {
        "prompt_tokens": 7,
        "details": {"text": 3, "image": 1},
        "cost": 0.75,
        "unit": "t",
        "extra": 1,
    }


def test_rows_without_indexes_are_taken_as_they_come() -> None:
    told = [
        {"data": [{"embedding": [1.0]}, {"embedding": [2.0]}]},
        {"data": [{"embedding": [3.0]}]},
    ]

    whole = orjson.loads(b"".join(joined([scanned([orjson.dumps(answer)]) for answer in told])))

    assert [(row["index"], row["embedding"]) for row in whole["data"]] == [
        (0, [1.0]),
        (1, [2.0]),
        (2, [3.0]),
    ]
