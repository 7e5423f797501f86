"""Embeddings, as the openai SDK asks for them and reads them."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable

import anthropic
import numpy as np
import openai
import pytest

from techniques.core.json import Json
from tests.e2e.conftest import CAGED_KEY, Scene
from tests.fakes import script
from tests.fakes.embeddings import answer_to, vector_of
from tests.fakes.upstream import Asked

TEXTS = ["one word", "another", "größer"]


def host(form: str | None = None) -> Callable[[Asked], script.Answer]:
    """Answer as a host does that writes as it is asked, or always in *form*."""
    return lambda asked: script.body(answer_to(asked.body, form=form))


@pytest.mark.parametrize("form", [None, "float"], ids=["base64", "floats"])
def test_the_vectors_are_the_same_whatever_the_host_writes(scene: Scene, form: str | None) -> None:
    scene.upstream.chooses(host(form))

    packed = scene.chat.embeddings.create(model="oa-embed", input=TEXTS)
    plain = scene.chat.embeddings.create(model="oa-embed", input=TEXTS, encoding_format="float")
    raw = scene.chat.embeddings.create(model="oa-embed", input=TEXTS, encoding_format="base64")

    wanted = [vector_of(text) for text in TEXTS]
    assert [row.embedding for row in packed.data] == wanted
    assert [row.embedding for row in plain.data] == wanted
    for row, vector in zip(raw.data, wanted, strict=True):
        assert isinstance(row.embedding, str)
        unpacked = np.frombuffer(b64decode(row.embedding), dtype="float32")
        np.testing.assert_array_equal(unpacked, np.array(vector, dtype="float32"))
    assert [row.index for row in packed.data] == [0, 1, 2]
    assert (packed.usage.prompt_tokens, packed.usage.total_tokens) == (4, 4)
    assert [asked.path for asked in scene.upstream.asked] == ["/v1/embeddings"] * 3
    assert [asked.body["model"] for asked in scene.upstream.asked] == ["real-embed"] * 3


def test_an_account_of_the_responses_api_has_embeddings_too(scene: Scene) -> None:
    scene.upstream.chooses(host())

    answer = scene.chat.embeddings.create(model="rs-embed", input="a text")

    assert answer.data[0].embedding == vector_of("a text")
    assert scene.upstream.asked[0].path == "/v1/embeddings"
    assert scene.upstream.asked[0].body["model"] == "text-embedding-3-small"


@pytest.mark.parametrize("model", ["rs-embed", "oa-embed"])
def test_models_that_make_embeddings_hold_no_conversation_by_any_api(
    scene: Scene, model: str
) -> None:
    with pytest.raises(openai.BadRequestError, match="/v1/embeddings"):
        scene.chat.responses.create(model=model, input="hi")
    with pytest.raises(anthropic.BadRequestError, match="/v1/embeddings"):
        scene.messages.messages.create(
            model=model, max_tokens=5, messages=[{"role": "user", "content": "hi"}]
        )


@pytest.mark.parametrize("given", ["a text", TEXTS, [1, 2, 3], [[1, 2], [3]]])
def test_every_form_of_input_goes_through(scene: Scene, given: Json) -> None:
    scene.upstream.chooses(host())

    answer = scene.chat.embeddings.create(model="oa-embed", input=given, dimensions=3, user="u")

    [asked] = scene.upstream.asked
    assert asked.body["input"] == given
    assert (asked.body["dimensions"], asked.body["user"]) == (3, "u")
    assert answer.object == "list"


def test_what_is_too_much_for_one_call_is_several(scene: Scene) -> None:
    scene.upstream.chooses(host())
    texts = [f"text {'x' * n}" for n in range(1, 26)]

    answer = scene.chat.embeddings.with_raw_response.create(model="oa-tight", input=texts)

    parsed = answer.parse()
    assert [row.embedding for row in parsed.data] == [vector_of(text) for text in texts]
    assert [row.index for row in parsed.data] == list(range(25))
    assert parsed.usage.prompt_tokens == 50
    assert sorted(len(asked.body["input"]) for asked in scene.upstream.asked) == [5, 10, 10]
    assert answer.headers["x-lockgate-calls"] == "3"
    assert answer.headers["x-lockgate-cost-usd"] == "0.000001"


def test_an_answer_tells_what_it_cost_and_who_gave_it(scene: Scene) -> None:
    scene.upstream.chooses(host())

    answer = scene.chat.embeddings.with_raw_response.create(model="oa-embed", input="a b c")

    headers = answer.headers
    assert headers["x-lockgate-model"] == "oa-embed"
    assert headers["x-lockgate-provider"] == "oa"
    assert headers["x-lockgate-technique"] == "none"
    assert headers["x-lockgate-cost-usd"] == "0.00000006"
    assert headers["x-lockgate-cost-source"] == "operator"
    assert headers["x-request-id"] == headers["x-lockgate-request-id"]


def test_bytes_that_need_no_change_are_the_hosts(scene: Scene) -> None:
    told = json.dumps(answer_to({"model": "real-embed", "input": "a"}), indent=3).encode()
    scene.upstream.plays(script.raw(told))

    answer = scene.chat.embeddings.with_raw_response.create(
        model="oa-embed", input="a", encoding_format="float"
    )

    assert answer.content == told


@pytest.mark.parametrize(
    ("model", "fields", "code"),
    [
        ("oa-chat", {}, "unsupported_endpoint"),
        ("an-model", {}, "unsupported_endpoint"),
        ("auto/oa-embed", {}, "technique_unsupported"),
        ("self_consistency/oa-embed", {}, "technique_unsupported"),
        ("oa-embed", {"x-lockgate-technique": "best_of_n"}, "technique_unsupported"),
        ("oa-embed", {"x-lockgate-technique": "auto"}, "technique_unsupported"),
        ("oa-embed", {"x-lockgate-fallbacks": "an-model"}, "unsupported_endpoint"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(
    scene: Scene, model: str, fields: dict[str, str], code: str
) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        scene.chat.embeddings.create(model=model, input="a", extra_headers=fields)

    assert raised.value.code == code
    assert not scene.upstream.asked


def test_a_model_of_embeddings_holds_no_conversation(scene: Scene) -> None:
    with pytest.raises(openai.BadRequestError, match="/v1/embeddings") as raised:
        scene.chat.chat.completions.create(
            model="oa-embed", messages=[{"role": "user", "content": "hi"}]
        )

    assert raised.value.code == "unsupported_endpoint"
    assert not scene.upstream.asked


def test_of_a_model_that_nothing_is_known_of_the_host_decides(scene: Scene) -> None:
    said = script.error(400, "This model does not support embeddings.", "invalid_request_error")
    scene.upstream.plays(said)

    with pytest.raises(openai.BadRequestError, match="does not support embeddings"):
        scene.chat.embeddings.create(model="oa-model", input="a")


def test_errors_are_those_of_the_other_surfaces(scene: Scene) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        scene.chat.embeddings.create(model="no-such-model", input="a")
    with pytest.raises(openai.PermissionDeniedError):
        scene.chat.with_options(api_key=CAGED_KEY).embeddings.create(model="oa-embed", input="a")
    with pytest.raises(openai.AuthenticationError):
        scene.chat.with_options(api_key="wrong").embeddings.create(model="oa-embed", input="a")
    scene.upstream.plays(script.error(429, "Slow down", "rate_limit_error"))
    with pytest.raises(openai.RateLimitError):
        scene.chat.embeddings.create(model="oa-embed", input="a")

    assert missing.value.code == "model_not_found"


def test_the_simulation_makes_embeddings_too(scene: Scene) -> None:
    answer = scene.chat.embeddings.create(model="sim-embed", input=["a b", "a b", "c"])

    first, again, other = (row.embedding for row in answer.data)
    assert first == again != other
    assert len(first) == 256


async def test_the_asynchronous_client_reads_the_same(scene: Scene) -> None:
    scene.upstream.chooses(host())

    async with scene.async_chat() as client:
        answer = await client.embeddings.create(model="oa-embed", input=TEXTS)

    assert [row.embedding for row in answer.data] == [vector_of(text) for text in TEXTS]
