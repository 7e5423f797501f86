"""What becomes of a client's settings at each kind of provider: said there, or named as lost."""

from __future__ import annotations

from typing import Final, NamedTuple

import pytest

from techniques.core.json import Json
from tests.conformance.dialects import EVERYWHERE, MODELS, asked, said_hello
from tests.conformance.stage import CHAT, Stage, chat
from tests.fakes import script

MANY: Final = ["A", "B", "C", "D", "E", "F"]
ASKED: Final[dict[str, dict[str, Json]]] = {
    "chat": {
        "stop": MANY,
        "max_completion_tokens": 77,
        "user": "u-1",
        "metadata": {"k": "v"},
        "service_tier": "flex",
        "seed": 0,
        "logit_bias": {"1": -1},
    },
    "messages": {
        "stop_sequences": MANY,
        "max_tokens": 77,
        "metadata": {"user_id": "u-1"},
        "service_tier": "auto",
        "top_k": 3,
    },
    "responses": {
        "max_output_tokens": 77,
        "user": "u-1",
        "metadata": {"k": "v"},
        "service_tier": "flex",
    },
    "ollama": {"options": {"stop": ["A", "B"], "num_predict": 77, "seed": 0, "top_k": 3}},
}
"""What each client says of the answer that it wants."""


class Sent(NamedTuple):
    """What a provider is told, and what of the rest is named as lost.

    Where a provider takes no stop texts the gateway stops itself.
    """

    fields: dict[str, Json]
    lost: tuple[str, ...] = ()


_CHAT: Final = {"stop": MANY, "max_tokens": 77, "user": "u-1"}
_USER: Final = {"metadata": {"user_id": "u-1"}}
SENT: Final[dict[tuple[str, str], Sent]] = {
    ("chat", "openai_chat"): Sent(
        {
            **ASKED["chat"],
        }
    ),
    ("chat", "anthropic"): Sent(
        {"stop_sequences": MANY, "max_tokens": 77, **_USER},
        ("seed", "metadata", "service_tier", "logit_bias"),
    ),
    ("chat", "openai_responses"): Sent(
        {
            "max_output_tokens": 77,
            "user": "u-1",
            "metadata": {"k": "v"},
            "service_tier": "flex",
        },
        ("seed", "logit_bias"),
    ),
    ("messages", "openai_chat"): Sent(_CHAT, ("top_k",)),
    ("messages", "anthropic"): Sent(ASKED["messages"]),
    ("messages", "openai_responses"): Sent({"max_output_tokens": 77, "user": "u-1"}, ("top_k",)),
    ("responses", "openai_chat"): Sent(
        {"max_tokens": 77, "user": "u-1"}, ("metadata", "service_tier")
    ),
    ("responses", "anthropic"): Sent({"max_tokens": 77, **_USER}, ("metadata", "service_tier")),
    ("responses", "openai_responses"): Sent(ASKED["responses"]),
    ("ollama", "openai_chat"): Sent({"max_tokens": 77, "stop": ["A", "B"], "seed": 0}, ("top_k",)),
    ("ollama", "anthropic"): Sent(
        {"max_tokens": 77, "stop_sequences": ["A", "B"], "top_k": 3}, ("seed",)
    ),
    ("ollama", "openai_responses"): Sent({"max_output_tokens": 77}, ("top_k", "seed")),
}
_NOT_OURS: Final = {"model", "messages", "input", "stream", "stream_options", "store"}


@pytest.mark.parametrize("streamed", ["whole", "streamed"])
@pytest.mark.parametrize(("client", "upstream"), SENT)
def test_a_setting_is_said_or_named_as_lost(
    stage: Stage, client: str, upstream: str, streamed: str
) -> None:
    stage.upstream.plays(said_hello(upstream, streamed))

    answer = asked(stage, client, upstream, streamed, **ASKED[client])

    sent = SENT[client, upstream]
    body = stage.upstream.asked[0].body
    assert {name: body[name] for name in body.keys() - _NOT_OURS} == sent.fields
    told = answer.headers.get("x-lockgate-warnings", "")
    assert {one for one in told.split("; ") if one} == {f"field_dropped: {n}" for n in sent.lost}


@pytest.mark.parametrize(("client", "upstream"), SENT)
def test_a_strict_client_is_refused_where_a_setting_would_be_lost(
    stage: Stage, client: str, upstream: str
) -> None:
    strict = {"x-lockgate-strict": "1"}
    stage.upstream.plays(said_hello(upstream, "whole"))

    answer = asked(stage, client, upstream, "whole", headers=strict, **ASKED[client])

    assert answer.status == (400 if SENT[client, upstream].lost else 200)
    assert len(stage.upstream.asked) == (answer.status == 200)


@pytest.mark.parametrize("stop", ["FIN", ["FIN"], ["FIN", "END"]])
def test_a_stop_text_is_one_or_several(stage: Stage, stop: Json) -> None:
    stage.upstream.plays(said_hello("anthropic", "whole"))

    asked(stage, "chat", "anthropic", "whole", stop=stop)

    expected = [stop] if isinstance(stop, str) else stop
    assert stage.upstream.asked[0].body["stop_sequences"] == expected


@pytest.mark.parametrize("streamed", ["whole", "streamed"])
def test_the_stop_text_that_was_met_is_told(stage: Stage, streamed: str) -> None:
    """By a server that tells it (vLLM) to a messages client."""
    if streamed == "whole":
        said = {"role": "assistant", "content": "Hello"}
        choice = {"index": 0, "message": said, "finish_reason": "stop", "stop_reason": "END"}
        stage.upstream.plays(script.choices(choice))
    else:
        last = script.chunk({}, "stop", stop_reason="END")
        stage.upstream.plays(script.sse(script.begin(), script.text("Hello"), last, script.done()))

    answer = asked(stage, "messages", "openai_chat", streamed, stop_sequences=["END"])

    assert b'"stop_reason":"stop_sequence","stop_sequence":"END"' in answer.body


@pytest.mark.parametrize("upstream", MODELS)
@pytest.mark.parametrize("options", [{}, {"include_usage": False}, {"include_usage": True}])
def test_usage_comes_last_and_alone_exactly_where_it_is_asked_for(
    stage: Stage, upstream: str, options: dict[str, bool]
) -> None:
    stage.upstream.plays(said_hello(upstream, "streamed"))
    asked_so: dict[str, Json] = {"stream_options": options} if options else {}

    with stage.open(CHAT, chat(model=MODELS[upstream], stream=True, **asked_so)) as answer:
        events = [event for event in answer.events() if event.data]

    assert events[-1].data == "[DONE]"
    *others, last = [event.json for event in events[:-1]]
    if not options.get("include_usage"):
        assert not any("usage" in chunk for chunk in (*others, last))
        return
    assert (last["choices"], last["usage"]["prompt_tokens"]) == ([], last_read(upstream))
    if upstream != "openai_chat":  # whose own chunks are passed on
        assert all(chunk["usage"] is None for chunk in others)
    assert all(chunk["choices"] for chunk in others)


def last_read(upstream: str) -> int:
    """Return how many tokens the short answer of *upstream* read."""
    return 21 if upstream == "anthropic" else 12


@EVERYWHERE
def test_an_answer_without_settings_is_warned_of_nothing(
    stage: Stage, client: str, upstream: str, streamed: str
) -> None:
    stage.upstream.plays(said_hello(upstream, streamed))

    answer = asked(stage, client, upstream, streamed)

    assert answer.status == 200
    assert "x-lockgate-warnings" not in answer.headers
