from __future__ import annotations

import json
from collections.abc import Callable

import anyio
import pytest

from router_service.embedding.encoders import encoder_of
from router_service.embedding.remembering import Remembering
from router_service.embedding.settings import EmbeddingSettings
from router_service.embedding.unusable import Unembedded


def answer(*numbers: float) -> bytes:
    return json.dumps({"data": [{"embedding": numbers, "index": 0}]}).encode()


class Posting:
    """Answers each call by the next of *answers*, the last again and again."""

    def __init__(self, *answers: bytes | Exception, takes_s: float = 0.0) -> None:
        self.answers = list(answers)
        self.takes_s = takes_s
        self.bodies: list[dict[str, object]] = []

    async def __call__(self, body: bytes) -> bytes:
        self.bodies.append(json.loads(body))
        await anyio.sleep(self.takes_s)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found


def encoder(post: Posting, **stated: object) -> Remembering:
    told = {"kind": "upstream", "url": "https://api.example.com/v1", "model": "small", **stated}
    return encoder_of(EmbeddingSettings.model_validate(told), post)


async def test_the_model_is_asked_for_a_text_once() -> None:
    post = Posting(answer(0, 2))
    one = encoder(post)
    for _ in range(2):
        vector = await one.encode("hello")
        assert vector is not None
        assert vector.encoder == one.name == "upstream:small"
        assert vector.values == (0.0, 1.0)
    assert post.bodies == [{"model": "small", "input": "hello", "encoding_format": "float"}]


async def test_the_size_that_is_wanted_is_asked_for_and_named() -> None:
    post = Posting(answer(*[1.0] * 8))
    one = encoder(post, dimensions=8)
    assert await one.encode("hello") is not None
    assert post.bodies[0]["dimensions"] == 8
    assert one.name == "upstream:small:8"


BAD: list[Callable[[], bytes]] = [
    lambda: b"",
    lambda: b"[]",
    lambda: b"{}",
    lambda: b'{"data": []}',
    lambda: b'{"data": [{"embedding": "AAAA"}]}',
    lambda: b'{"data": [{"embedding": []}]}',
    lambda: b'{"data": [{"embedding": [true, 1.0]}]}',
    lambda: b'{"data": [{"embedding": [null]}]}',
    lambda: b'{"data": {"embedding": [1.0]}}',
    lambda: answer(*[1.0] * 5000),
    lambda: b"\xff\xfe",
]


@pytest.mark.parametrize("bad", BAD)
async def test_an_answer_that_is_no_vector_gives_none(bad: Callable[[], bytes]) -> None:
    assert await encoder(Posting(bad())).encode("hello") is None


async def test_a_vector_of_another_size_than_the_first_is_none() -> None:
    one = encoder(Posting(answer(1, 0), answer(1, 0, 0), answer(0, 1)))
    assert await one.encode("a") is not None
    assert await one.encode("b") is None
    assert await one.encode("c") is not None


async def test_a_model_that_is_slow_is_not_waited_for() -> None:
    begun = anyio.current_time()
    assert await encoder(Posting(answer(1.0), takes_s=60), timeout_s=0.5).encode("a") is None
    assert anyio.current_time() - begun == pytest.approx(0.5)


async def test_a_model_that_fails_three_times_is_left_alone_for_a_while() -> None:
    post = Posting(*[Unembedded("HTTP 500")] * 3, answer(1.0))
    one = encoder(post)
    for text in "abcde":
        assert await one.encode(text) is None
    assert len(post.bodies) == 3
    await anyio.sleep(10.1)
    assert await one.encode("f") is not None


async def test_what_fails_now_and_then_is_asked_on() -> None:
    answers = (Unembedded("HTTP 500"), Unembedded("HTTP 500"), answer(1.0))
    post = Posting(*answers, *answers, *answers)
    one = encoder(post)
    found = [await one.encode(str(number)) is not None for number in range(9)]
    assert found == [False, False, True] * 3
