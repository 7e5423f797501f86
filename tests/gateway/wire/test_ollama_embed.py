"""Embeddings in Ollama's words: what is asked, and what is made of a provider's answer."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.dialect import Call, Summary, Times
from gateway.wire.ollama import OllamaEmbed, OllamaEmbeddings
from gateway.wire.ollama.embed import vectors_of
from pricing.usage import Usage
from techniques.core.errors import RequestRejected, UpstreamFailed
from techniques.core.json import Json
from techniques.core.reply import Reply

SUMMARY = Summary(Usage(input_tokens=7), 1, None, "unknown", times=Times(2.0, 1.0, 0.5))


def call(**fields: Json) -> Call:
    return OllamaEmbed().decode({"model": "e", **fields}, b"")


def old(**fields: Json) -> Call:
    return OllamaEmbeddings().decode({"model": "e", **fields}, b"")


def rewritten(call: Call, *pieces: bytes, summary: Summary = SUMMARY) -> Json:
    assert call.rewrite is not None
    return orjson.loads(b"".join(call.rewrite(pieces, summary)))


def told(*vectors: Json, **more: Json) -> bytes:
    rows = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    return orjson.dumps({"object": "list", "data": rows, **more})


@pytest.mark.parametrize("given", ["a text", ["a", "", "b"]])
def test_a_text_and_a_list_of_texts_are_asked_for_in_openais_words(given: Json) -> None:
    asked = call(input=given, dimensions=3, truncate=True, options={"num_ctx": 9}, keep_alive=5)

    assert (asked.dialect, asked.relay.dialect) == ("openai_embeddings", "openai_embeddings")
    assert asked.relay.body == {"model": "e", "input": given, "dimensions": 3}
    assert not asked.streamed
    assert not asked.idle


def test_the_old_form_has_one_text() -> None:
    assert old(prompt="a text").relay.body == {"model": "e", "input": "a text"}


@pytest.mark.parametrize("empty", [None, "", []])
def test_who_gives_nothing_asks_nothing(empty: Json) -> None:
    assert call(input=empty).idle
    assert old(prompt=empty or None).idle
    assert orjson.loads(OllamaEmbed().whole(call(), Reply(), SUMMARY))["embeddings"] == []
    assert orjson.loads(OllamaEmbeddings().whole(old(), Reply(), SUMMARY)) == {"embedding": []}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": ""}, "model"),
        ({"input": 5}, "input"),
        ({"input": ["a", 5]}, "input"),
        ({"input": {"a": 1}}, "input"),
        ({"input": "a", "dimensions": "x"}, "dimensions"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Json], param: str) -> None:
    with pytest.raises(RequestRejected) as refused:
        call(**fields)

    assert refused.value.param == param


def test_the_gateways_own_fields_are_wishes() -> None:
    asked = call(input="a", reliability={"max_calls": 3})

    assert asked.wishes == {"max_calls": 3}
    assert "reliability" not in asked.relay.body


def test_an_answer_has_the_vectors_the_tokens_and_the_time() -> None:
    raw = told([0.25, -1.5], [1e-9, 3])

    answer = rewritten(call(input=["a", "b"]), raw[:20], raw[20:])

    assert answer == {
        "model": "e",
        "embeddings": [[0.25, -1.5], [1e-9, 3]],
        "total_duration": 2_000_000_000,
        "load_duration": 500_000_000,
        "prompt_eval_count": 7,
    }
    assert rewritten(old(prompt="a"), told([0.25, -1.5])) == {"embedding": [0.25, -1.5]}


def test_what_a_run_came_to_is_told_where_it_is_told_at_all() -> None:
    summary = Summary(Usage(7), 3, "0.1", "book", {"calls": 3})

    answer = rewritten(call(input="a"), told([0.5]), summary=summary)

    assert answer["lockgate"] == {"calls": 3, "prompt_eval_count": 7, "eval_count": 0}


VECTORS = st.lists(
    st.lists(st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False), max_size=4),
    min_size=1,
    max_size=5,
)


@given(VECTORS, st.randoms(use_true_random=False), st.sampled_from(['"embedding":[', "x", "]"]))
def test_vectors_come_in_the_order_of_what_was_given(
    vectors: list[list[float]], dice: Json, name: str
) -> None:
    rows = [{"embedding": v, "index": at, "note": name} for at, v in enumerate(vectors)]
    dice.shuffle(rows)
    answer = {"model": name, "data": rows, "usage": {"embedding": 5}}

    for raw in (orjson.dumps(answer), orjson.dumps(answer, option=orjson.OPT_INDENT_2)):
        assert [orjson.loads(vector) for vector in vectors_of(raw)] == vectors


def test_without_an_index_the_order_is_that_of_the_answer() -> None:
    raw = b'{"data": [{"embedding" : [1, 2]}, {"embedding":[3]}]}'

    assert vectors_of(raw) == [b"[1, 2]", b"[3]"]


def test_a_large_answer_is_handed_on_in_pieces() -> None:
    vectors = [[at / 2] for at in range(100)]
    asked = call(input=["a"] * 100)
    assert asked.rewrite is not None

    pieces = asked.rewrite([told(*vectors)], SUMMARY)

    assert orjson.loads(b"".join(pieces))["embeddings"] == vectors
    assert len(pieces) > 3


@pytest.mark.parametrize("vector", ["AAAA", [[1]], {"a": 1}, [{"embedding": [1]}], None, 7])
def test_an_answer_whose_vectors_are_none_is_a_failure_of_its_provider(vector: Json) -> None:
    asked = call(input="a")
    assert asked.rewrite is not None
    raw = orjson.dumps({"data": [{"embedding": vector, "index": 0}]})

    with pytest.raises(UpstreamFailed) as failed:
        asked.rewrite([raw], SUMMARY)
    assert failed.value.said.code == "upstream_invalid_response"


@pytest.mark.parametrize("index", [None, "0", 1.5])
def test_an_index_that_is_none_says_nothing(index: Json) -> None:
    rows = [{"embedding": [1]}, {"embedding": [2], "index": index}, {"embedding": [3], "index": 0}]
    assert vectors_of(orjson.dumps({"data": rows})) == [b"[1]", b"[2]", b"[3]"]
