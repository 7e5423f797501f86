from __future__ import annotations

import time

import pytest

from router_service.features import embedding_text, prompt_of
from techniques.core.request import (
    Image,
    Message,
    Request,
    ResponseFormat,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    said,
)
from techniques.parts.features import CONTENT

SKY = "Why is the sky blue, and why is it red in the evening?"
LONG = "Explain in detail how a bill becomes a law in the United States of America. " * 4


def talk(*turns: str, system: str = "") -> Request:
    """Return a conversation of a user and a model, in turns."""
    spoken = [
        said("user" if place % 2 == 0 else "assistant", turn) for place, turn in enumerate(turns)
    ]
    return Request("m", (*([said("system", system)] if system else ()), *spoken))


def test_what_is_asked_for_is_told() -> None:
    told = prompt_of(talk(SKY), "weather").features
    assert (told.kind, told.category, told.label, told.language) == ("prose", "qa", "weather", "en")
    assert (told.turns, told.tokens, told.system) == (1, len(SKY) // 4, "")
    assert {told.tools, told.json_schema, told.image} == {False}
    assert set(told.content) == CONTENT


def test_what_stands_around_a_question_is_told() -> None:
    picture = Message("user", (Text("What is this?"), Image(url="https://example.com/a.png")))
    request = Request(
        "m",
        (said("user", "Hello"), said("assistant", "Hello!"), picture),
        tools=(Tool("look"),),
        response_format=ResponseFormat("json_object"),
    )
    told = prompt_of(request).features
    assert (told.kind, told.turns) == ("tool", 2)
    assert told.tools
    assert told.json_schema
    assert told.image


def test_instructions_are_told_apart_and_not_told() -> None:
    one, same, other = (
        prompt_of(talk(SKY, system=system)) for system in ("Be brief.", "Be brief.", "Be kind.")
    )
    assert one.features.system == same.features.system != other.features.system
    assert len(one.features.system) == 16
    assert "brief" not in one.text
    assert "brief" not in one.features.model_dump_json()


def test_calls_and_results_of_tools_count_as_tokens() -> None:
    request = Request(
        "m",
        (
            said("user", "x" * 40),
            Message("assistant", (ToolCall("1", "f", "y" * 40),)),
            Message("tool", (ToolResult("1", (Text("z" * 400),)),)),
        ),
    )
    told = prompt_of(request)
    assert told.features.tokens == 120
    assert told.text == "x" * 40


def test_a_long_question_stands_for_itself() -> None:
    assert embedding_text(talk("Hello", "Hello!", LONG)) == LONG


@pytest.mark.parametrize(
    "ask", ["And in winter?", f"Translate this. {LONG}", f"Und nochmal, bitte: {LONG}"]
)
def test_what_is_short_or_points_back_comes_with_what_was_said_before(ask: str) -> None:
    assert embedding_text(talk(SKY, "It scatters.", ask)) == f"{SKY}\n\nIt scatters.\n\n{ask}"


def test_of_what_was_said_before_the_last_four_hundred_tokens_count() -> None:
    text = embedding_text(talk("first " * 500, "second " * 200, "And now?"))
    assert text.endswith("second\n\nAnd now?")
    assert 1500 < len(text) < 1700
    assert text.count("second") == 200


def test_the_first_question_is_alone_however_short() -> None:
    assert embedding_text(talk("Hi", system="Be brief.")) == "Hi"


def test_the_turns_of_an_agent_do_not_hide_what_its_user_asked() -> None:
    turns = (
        said("user", LONG),
        Message("assistant", (ToolCall("1", "f", "{}"),)),
        Message("tool", (ToolResult("1", (Text("result"),)),)),
        said("assistant", "Now the next step."),
    )
    assert embedding_text(Request("m", turns)) == LONG


@pytest.mark.parametrize("turns", [(), (said("system", "x"),), (said("user", ""),)])
def test_without_a_question_there_is_no_text(turns: tuple[Message, ...]) -> None:
    told = prompt_of(Request("m", turns))
    assert told.text == ""
    assert told.features.language == ""


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_of_a_block_of_code_forty_lines_count(fence: str) -> None:
    code = "".join(f"line {number}\n" for number in range(100))
    text = embedding_text(talk(f"Mend this:\n{fence}python\n{code}{fence}\nIt must run.\n{LONG}"))
    assert "line 39\n" in text
    assert "line 40\n" not in text
    assert f"{fence}\nIt must run." in text


def test_a_block_that_never_ends_is_cut_too() -> None:
    text = embedding_text(talk("```\n" + "x\n" * 1000))
    assert text.count("x") == 40


LANGUAGES = {
    "en": "What is the capital of this country, and how many people live there?",
    "de": "Was ist die Hauptstadt von Frankreich und wie viele Menschen wohnen dort?",
    "fr": "Quelle est la capitale de la France et combien de gens vivent dans cette ville ?",
    "es": "¿Cuál es la capital de España y cuántos habitantes viven en ella?",
    "pt": "Qual é a capital do Brasil e quantos habitantes vivem na cidade?",
    "it": "Qual è la capitale della Francia e quanti abitanti ci sono nel paese?",
    "nl": "Wat is de hoofdstad van het land en hoeveel mensen wonen er?",
    "ru": "Какой город является столицей Франции?",
    "uk": "Яке місто є столицею України?",
    "ja": "フランスの首都はどこですか。",
    "zh": "法国的首都在哪里",
    "ko": "프랑스의 수도는 어디입니까?",
    "ar": "ما هي عاصمة فرنسا؟",
    "he": "מהי בירת צרפת?",
    "hi": "फ्रांस की राजधानी क्या है?",
    "th": "เมืองหลวงของฝรั่งเศสคืออะไร",
    "el": "Ποια είναι η πρωτεύουσα της Γαλλίας;",
    "": "x = 3 + 4 \u03b1",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_is_told_by_its_letters_and_small_words(language: str) -> None:
    assert prompt_of(talk(LANGUAGES[language])).features.language == language


@pytest.mark.parametrize(
    "text", ["x" * 10**6, "1, " * 10**5, "```\nfoo\n" * 10**5, " \n" * 10**5, "A) b " * 10**5]
)
def test_a_huge_prompt_takes_no_longer_than_a_large_one(text: str) -> None:
    begun = time.thread_time()
    prompt_of(talk(text, "and", text, text))
    assert time.thread_time() - begun < 0.25  # some ms; quadratic would be minutes


def test_a_lone_surrogate_is_no_reason_to_fail() -> None:
    assert prompt_of(talk("a\ud800", system="\udfff")).text == "a\ud800"
