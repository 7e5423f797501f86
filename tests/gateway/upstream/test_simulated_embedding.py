from __future__ import annotations

from math import sqrt

import orjson
import pytest

from gateway.upstream.provider import HttpCall
from gateway.upstream.simulated.settings import Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from techniques.core.json import Json
from tests.fakes.embeddings import packed


async def embed(
    given: Json, transport: SimulatedTransport | None = None, **fields: Json
) -> tuple[int, Json]:
    body = orjson.dumps({"model": "sim-embed", "input": given, **fields})
    answer = await (transport or SimulatedTransport()).post(HttpCall("/embeddings", body, {}), 0)
    return answer.status, orjson.loads(await answer.read())


async def vectors(*texts: str, **fields: Json) -> list[list[float]]:
    _, told = await embed(list(texts), **fields)
    return [row["embedding"] for row in told["data"]]


def product(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_a_text_has_one_vector_whenever_it_is_asked_for() -> None:
    first, again = await vectors("the capital of France"), await vectors("the capital of France")

    assert first == again
    assert len(first[0]) == 256
    assert sqrt(product(first[0], first[0])) == pytest.approx(1)


async def test_texts_that_share_words_are_nearer() -> None:
    asked, alike, other = await vectors(
        "the capital of France", "France has a capital", "boil eggs for ten minutes"
    )

    assert product(asked, alike) > product(asked, other) + 0.2


async def test_vectors_can_be_short_and_packed() -> None:
    (short,) = await vectors("a b", dimensions=8)
    _, told = await embed("a b", dimensions=8, encoding_format="base64")

    assert len(short) == 8
    assert told["data"][0]["embedding"] == packed(short)


async def test_tokens_are_inputs_too_and_all_are_counted() -> None:
    _, one = await embed([5, 6, 7])
    _, two = await embed([[5, 6, 7], [8]])

    assert one["usage"] == {"prompt_tokens": 3, "total_tokens": 3}
    assert two["usage"] == {"prompt_tokens": 4, "total_tokens": 4}
    assert two["data"][0] == one["data"][0]


@pytest.mark.parametrize(
    ("given", "fields", "status", "param"),
    [
        ("a", {"model": "sim-small"}, 400, "model"),
        ("a", {"model": "no-such"}, 404, None),
        ("a", {"dimensions": 257}, 400, "dimensions"),
        ([], {}, 400, "input"),
        (["a", " "], {}, 400, "input"),
        (["a"] * 2049, {}, 400, "input"),
    ],
)
async def test_what_it_does_not_take_is_refused(
    given: Json, fields: dict[str, Json], status: int, param: str | None
) -> None:
    code, told = await embed(given, **fields)

    assert (code, told["error"]["param"]) == (status, param)


async def test_its_tokens_count_against_the_limit() -> None:
    transport = SimulatedTransport(Simulation(tpm=5))

    statuses = [(await embed("a b c", transport))[0] for _ in range(2)]

    assert statuses == [200, 429]
