"""Structured answers: both SDKs' own helpers with a pydantic model."""

from __future__ import annotations

import openai
import pytest
from pydantic import BaseModel

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Turn, streamed, whole
from tests.fakes import script


class Place(BaseModel):
    """A place."""

    name: str
    people: int


ASKED: list[Json] = [{"role": "user", "content": "Tell me about Köln."}]
SPELLED = Turn(parts=('{"name": "Kö', 'ln", "people"', ": 1087000}"))
EXPECTED = Place(name="Köln", people=1087000)


def _schema_sent(body: Json) -> Json:
    """Return the schema that a provider of whichever dialect was given."""
    if "response_format" in body:
        return body["response_format"]["json_schema"]["schema"]
    if "text" in body:
        return body["text"]["format"]["schema"]
    return body["output_config"]["format"]["schema"]


@pytest.mark.parametrize("model", MODELS)
def test_a_chat_client_parses_a_model(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, SPELLED))

    answer = scene.chat.chat.completions.parse(model=model, messages=ASKED, response_format=Place)

    assert answer.choices[0].message.parsed == EXPECTED
    schema = _schema_sent(scene.upstream.asked[0].body)
    assert set(schema["properties"]) == {"name", "people"}


@pytest.mark.parametrize("model", MODELS)
def test_a_chat_client_parses_a_streamed_model(scene: Scene, model: str) -> None:
    scene.upstream.plays(streamed(model, SPELLED))

    with scene.chat.chat.completions.stream(
        model=model, messages=ASKED, response_format=Place
    ) as stream:
        final = stream.get_final_completion()

    assert final.choices[0].message.parsed == EXPECTED


@pytest.mark.parametrize("model", MODELS)
def test_a_messages_client_parses_a_model(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, SPELLED))

    answer = scene.messages.messages.parse(
        model=model, max_tokens=99, messages=ASKED, output_format=Place
    )

    assert answer.parsed_output == EXPECTED
    schema = _schema_sent(scene.upstream.asked[0].body)
    assert set(schema["properties"]) == {"name", "people"}


@pytest.mark.parametrize("model", MODELS)
def test_a_messages_client_parses_a_streamed_model(scene: Scene, model: str) -> None:
    scene.upstream.plays(streamed(model, SPELLED))

    with scene.messages.messages.stream(
        model=model, max_tokens=99, messages=ASKED, output_format=Place
    ) as stream:
        final = stream.get_final_message()

    assert final.parsed_output == EXPECTED


@pytest.mark.parametrize("model", MODELS)
def test_an_answer_cut_off_is_not_taken_for_a_model(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, Turn(parts=('{"name": "Kö',), cut=True)))

    with pytest.raises(openai.LengthFinishReasonError):
        scene.chat.chat.completions.parse(model=model, messages=ASKED, response_format=Place)


def test_the_simulation_answers_in_the_form_of_a_model(scene: Scene) -> None:
    chat = scene.chat.chat.completions.parse(
        model="sim-small", messages=ASKED, response_format=Place
    )
    message = scene.messages.messages.parse(
        model="sim-small", max_tokens=200, messages=ASKED, output_format=Place
    )

    assert isinstance(chat.choices[0].message.parsed, Place)
    assert isinstance(message.parsed_output, Place)


def test_a_refusal_is_not_taken_for_a_model(scene: Scene) -> None:

    said: Json = {"role": "assistant", "content": None, "refusal": "I will not."}
    scene.upstream.plays(script.completion(message=said), script.completion(message=said))

    chat = scene.chat.chat.completions.parse(
        model="oa-model", messages=ASKED, response_format=Place
    )
    message = scene.messages.messages.create(model="oa-model", max_tokens=99, messages=ASKED)

    assert chat.choices[0].message.parsed is None
    assert chat.choices[0].message.refusal == "I will not."
    assert message.stop_reason == "refusal"
