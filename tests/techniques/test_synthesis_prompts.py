from __future__ import annotations

import json
from dataclasses import replace

import pytest

from techniques.core.capabilities import Capabilities
from techniques.core.channel import Member
from techniques.core.reply import Reply, replied
from techniques.core.request import (
    Image,
    Message,
    Request,
    Sampling,
    Text,
    Thinking,
    ThinkingWish,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    said,
)
from techniques.parts.aside import Aside
from techniques.parts.candidates import Candidate
from techniques.parts.remarks import read_remarks, remarks_request
from techniques.parts.synthesis import Brief, Intent, supports, synthesis_request
from techniques.parts.transcript import Fence
from techniques.parts.variants import Variant, fitting, varied
from tests.techniques.scene import asks, scripted, sensible, shown

FENCE = Fence("tag")
WRITER = Member("w", "writer", scripted(sensible))
PLAIN = replace(WRITER, capabilities=Capabilities(temperature=False))
TWO = (Candidate(0, replied("It is deep.")), Candidate(1, replied("It is salt.")))
TALK = Request(
    "m",
    (said("system", "Be brief."), Message("user", (Text("And this sea?"), Image(url="u")))),
    sampling=Sampling(
        temperature=0.9, max_output_tokens=500, stop=("END",), logprobs=True, top_logprobs=3
    ),
)


def asked(request: Request = TALK, brief: Brief | None = None, writer: Member = WRITER) -> Request:
    return synthesis_request(request, brief or Brief(TWO), FENCE, writer)


def test_the_conversation_stays_and_the_drafts_come_at_its_end() -> None:
    request = asked()
    assert request.messages[0] == TALK.messages[0]
    assert request.messages[1].parts[:2] == TALK.messages[1].parts
    assert len(request.messages) == 2
    text = shown(request)
    assert "<<tag draft A>>\nIt is deep.\n<<end tag>>" in text
    assert "<<tag draft B>>\nIt is salt.\n<<end tag>>" in text
    assert FENCE.notice in text


def test_after_a_tool_has_answered_the_drafts_are_a_turn_of_their_own() -> None:
    turns = (
        said("user", "How deep?"),
        Message("assistant", (ToolCall("1", "dive", "{}"),)),
        Message("tool", (ToolResult("1", (Text("11 km"),)),)),
    )
    tools = (Tool("dive"),)
    request = asked(Request("m", turns, tools, ToolChoice("auto")))
    assert request.messages[:3] == turns
    assert request.messages[3].role == "user"
    assert (request.tools, request.tool_choice) == (tools, ToolChoice("none"))


def test_a_request_without_a_conversation_can_be_answered_too() -> None:
    assert "draft B" in shown(asked(Request("m")))


def test_the_client_s_limits_hold_and_its_token_probabilities_are_not_wanted() -> None:
    request = asked()
    wanted = Sampling(temperature=0.1, max_output_tokens=500, stop=("END",))
    assert request.sampling == wanted
    assert (request.role, request.step) == ("synthesis", "s0")


def test_the_temperature_is_the_clients_where_none_is_set_or_it_cannot_be() -> None:
    assert asked(brief=Brief(TWO, temperature=None)).sampling.temperature == 0.9
    assert asked(writer=PLAIN).sampling.temperature == 0.9
    thinks = replace(TALK, thinking=ThinkingWish("on", 2000))
    assert asked(thinks).sampling.temperature == 0.9


def test_thinking_of_a_draft_is_not_shown_and_long_drafts_are_whole() -> None:
    long = "x" * 100_000
    thought = Candidate(0, Reply((Thinking("INNER"), Text("It is deep."))))
    drafts = (thought, Candidate(1, replied(long)))
    text = shown(asked(brief=Brief(drafts)))
    assert "INNER" not in text
    assert long in text


def test_support_is_told_in_words_and_only_where_it_differs() -> None:
    def weighed(*weights: float) -> list[str]:
        return supports([replace(TWO[0], weight=weight) for weight in weights])

    strong, medium, weak = (f" ({word} support)" for word in ("strong", "medium", "weak"))
    assert weighed(0.3, 0.25, 0.12, 0.05) == [strong, strong, medium, weak]
    assert weighed(0.3, 0.3) == ["", ""]
    unlike = [replace(TWO[0], weight=0.2), TWO[1]]
    assert "draft A (weak support)>>" in shown(asked(brief=Brief(unlike)))
    assert "support" not in shown(asked(brief=Brief(TWO, "aggregate")))


@pytest.mark.parametrize("intent", ["combine", "aggregate", "anchor"])
def test_whatever_is_wanted_nothing_but_the_answer_is(intent: Intent) -> None:
    text = shown(asked(brief=Brief(TWO, intent)))
    assert "2 drafts" in text
    assert text.endswith("no word about the drafts or this task.")


def test_the_remarks_of_a_critic_are_data_too() -> None:
    text = shown(asked(brief=Brief(TWO, remarks="- A is wrong.")))
    assert "<<tag remarks>>\n- A is wrong.\n<<end tag>>" in text


def test_a_critic_sees_the_drafts_by_the_same_letters() -> None:
    request = remarks_request(Aside(TALK, WRITER, FENCE, "ks0"), TWO)
    text = shown(request)
    assert "<<tag draft B>>\nIt is salt." in text
    assert "Be brief." in text
    assert (request.role, request.sampling.max_output_tokens) == ("critique", 400)


@pytest.mark.parametrize(
    ("said_so", "remarks"),
    [
        (
            json.dumps({"remarks": ["A is\nwrong.", " ", "B is right."]}),
            "- A is wrong.\n- B is right.",
        ),
        (json.dumps({"remarks": []}), ""),
        (json.dumps({"remarks": [1]}), None),
        (json.dumps({"remarks": "A is wrong."}), None),
        ("A is wrong.", None),
    ],
)
def test_remarks_are_read_or_unusable(said_so: str, remarks: str | None) -> None:
    assert read_remarks(said_so) == remarks


def test_a_critic_is_heard_for_a_few_remarks_only() -> None:
    many = json.dumps({"remarks": ["Wrong."] * 100})
    assert (read_remarks(many) or "").count("Wrong.") == 8


@pytest.mark.parametrize(
    "variant", ["stepwise", "expert", "terse", "reread", "restate_then_solve", "plan_first"]
)
def test_a_variant_only_adds_to_the_end_of_the_last_user_turn(variant: Variant) -> None:
    request = varied(TALK, variant)
    assert request.messages[0] == TALK.messages[0]
    assert request.messages[1].parts[:2] == TALK.messages[1].parts
    assert len(request.messages[1].parts) == 3
    assert replace(request, messages=TALK.messages) == TALK


def test_the_question_as_it_is_is_no_different() -> None:
    assert varied(TALK, "identity") is TALK


def test_a_question_is_read_again_whatever_is_in_it() -> None:
    assert shown(varied(asks("What is {x}?"), "reread")).count("What is {x}?") == 2


def test_a_short_answer_is_not_asked_for_where_a_long_one_is_wanted() -> None:
    some: tuple[Variant, ...] = ("terse", "expert")
    assert fitting(some, asks("What is 6 * 7?")) == ["identity", "terse", "expert"]
    for ask in ("Explain it in detail.", "Write 500 words on the sea.", "A long letter, please."):
        assert fitting(some, asks(ask)) == ["identity", "expert"]


def test_the_question_as_it_is_comes_first_and_once() -> None:
    assert fitting(("expert", "identity"), asks()) == ["identity", "expert"]
