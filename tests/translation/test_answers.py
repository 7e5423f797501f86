"""Each field that the SDKs' answers have is told to each client, or its loss has a name."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, get_args

import pytest
from anthropic.types import Message, RawContentBlockDelta, RawMessageStreamEvent
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from gateway.upstream.providers.anthropic import decode
from tests.translation.answers import CLIENTS, MAKERS, fates, happenings, told_of
from tests.translation.models import fields_of, members
from tests.translation.samples import CHAT, MESSAGES, RESPONSES
from tests.translation.told import NATURAL, QUIET, is_quiet

each_maker = pytest.mark.parametrize("maker", MAKERS)
each_client = pytest.mark.parametrize("client", CLIENTS)
OTHERWISE: Final = {"id", "model", "start_index", "end_index"}
"""What a stream and a whole answer may tell otherwise: names, and where a source's text begins,
which a stream has told before it is known."""
TYPES: Final[Mapping[tuple[str, bool], Any]] = {
    (CHAT, False): ChatCompletion,
    (CHAT, True): ChatCompletionChunk,
    (RESPONSES, False): Response,
    (RESPONSES, True): ResponseStreamEvent,
    (MESSAGES, False): Message,
    (MESSAGES, True): RawMessageStreamEvent,
}
"""By client, what it gets of an answer, and of a stream one by one."""
KNOWN_LOSSES: Final = {
    "anthropic.container",
    "anthropic.content.tool_use.caller",
    "anthropic.content.tool_use.toolset_name",
    "anthropic.diagnostics",
    "anthropic.usage.server_tool_use.web_fetch_requests",
    "openai_chat.choices.message.audio",
    "openai_chat.moderation",
    "openai_responses.input_transformations",
    "openai_responses.moderation",
    "openai_responses.output.custom_tool_call.async",
    "openai_responses.output.custom_tool_call.caller",
    "openai_responses.output.function_call.async",
    "openai_responses.output.function_call.caller",
    "openai_responses.output.message.phase",
    "openai_responses.prompt_cache_diagnostics",
    "openai_responses.tool_usage.image_gen",
}
"""What is lost where an answer is written anew for a client of its maker's own API, by name."""
PROGRESS: Final = (
    *("*.in_progress", "*.searching", "*.interpreting", "*.generating", "*.compacting"),
    *("*.queued", "*.created", "*_call.completed", "*_call.failed", "*_tools.completed"),
    *("*_tools.failed", "*.code_interpreter_call_code.*", "*.shell_call_*", "*.partial_image"),
    *("*.mcp_call_arguments.*", "*.content_part.*", "*_part.added", "*_part.done"),
    *("*.output_item.added", "*.annotation.added"),
)
"""Events of a stream that tell how something gets on, or some of what an item tells at its end."""


@each_client
@each_maker
@pytest.mark.parametrize("stream", [False, True])
def test_nothing_is_lost_in_silence(maker: str, client: str, *, stream: bool) -> None:
    found = fates(maker, client, stream=stream)

    silent = {told.path for told, fate in found.items() if fate.silent}
    quiet = {told.path for told in found if is_quiet(told, client)}
    if stream:
        silent = {path for path in silent if path.rpartition(".")[2] not in OTHERWISE}

    assert silent - quiet == set()


def test_what_may_be_lost_is_so_somewhere() -> None:
    silent = {
        client: {
            told.path
            for maker in MAKERS
            for told, fate in fates(maker, client, stream=False).items()
            if fate.silent
        }
        for client in CLIENTS
    }
    anywhere = set().union(*silent.values())

    for pattern in (one for group in NATURAL.values() for one in group):
        assert any(fnmatchcase(path, pattern) for path in anywhere), pattern
    for client, patterns in QUIET.items():
        for pattern in patterns:
            assert any(fnmatchcase(path, pattern) for path in silent[client]), (client, pattern)


@each_client
@each_maker
def test_a_stream_tells_what_a_whole_answer_does(maker: str, client: str) -> None:
    whole, stream = (fates(maker, client, stream=how) for how in (False, True))

    for told in whole:
        if told.path.rpartition(".")[2] not in OTHERWISE:
            assert bool(stream[told].said) == bool(whole[told].said), told.path
            assert stream[told].lost == whole[told].lost, told.path


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("client", MAKERS)
@each_maker
def test_what_a_client_gets_is_of_the_types_that_its_sdk_has(
    maker: str, client: str, *, stream: bool
) -> None:
    kind = TypeAdapter[object](TYPES[client, stream])

    for told in (one for one in told_of() if one.spot.provider == maker):
        given = told.written(client, stream=stream)
        for one in [] if given is None else given if stream else [given]:
            kind.validate_python(one)


@each_maker
def test_a_client_of_the_makers_own_api_loses_what_is_known(maker: str) -> None:
    lost = {told.path for told, fate in fates(maker, maker, stream=False).items() if fate.lost}

    assert lost == {path for path in KNOWN_LOSSES if path.startswith(maker)}


@each_client
def test_each_event_of_a_stream_is_told_or_goes_before_what_is(client: str) -> None:
    silent = {one.name for one in happenings() if one.to(client).silent}

    unexplained = {
        name for name in silent if not any(fnmatchcase(name, pattern) for pattern in PROGRESS)
    }
    assert unexplained == set()


def test_sound_in_a_response_is_lost_by_name() -> None:
    sounds = [one for one in happenings() if one.name.startswith("response.audio.")]

    assert sounds
    for one in sounds:
        assert one.to(CHAT).lost == ("answer_part_dropped",)


def test_the_events_that_other_streams_have_are_those_that_are_read() -> None:
    """The streams here are made of them; a new one must find its place there."""
    events = {str(fields_of(one)["type"]) for one in members(get_args(RawMessageStreamEvent)[0])}
    deltas = {str(fields_of(one)["type"]) for one in members(get_args(RawContentBlockDelta)[0])}

    assert events == {
        *("message_start", "message_delta", "message_stop"),
        *("content_block_start", "content_block_delta", "content_block_stop"),
    }
    assert deltas == {
        *("text_delta", "input_json_delta", "citations_delta", "thinking_delta"),
        "signature_delta",
    }
    assert set(ChatCompletionChunk.model_fields) == {
        *("id", "choices", "created", "model", "object", "moderation", "obfuscation"),
        *("service_tier", "system_fingerprint", "usage"),
    }
    assert set(Choice.model_fields) == {"delta", "finish_reason", "index", "logprobs"}
    assert set(ChoiceDelta.model_fields) == {
        *("audio", "content", "function_call", "refusal", "role", "tool_calls"),
    }


def test_every_type_of_the_sdks_is_tried() -> None:
    """So that a union which is read otherwise in a new version does not become empty."""
    counts = {
        (told.spot.provider, told.spot.name): len(list(members(told.spot.kind)))
        for told in told_of()
    }

    assert counts[RESPONSES, "output"] >= 28
    assert counts[RESPONSES, "output.content.annotations"] >= 4
    assert counts[MESSAGES, "content"] >= 12
    assert counts[MESSAGES, "content.citations"] >= 5
    assert len(happenings()) >= 50
    assert len(told_of()) > 220


def test_a_field_that_is_lost_in_silence_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "_HEADS", ())
    told = next(one for one in told_of() if one.path == "anthropic.container")

    assert told.to(CHAT, stream=False).silent
    assert told.to(CHAT, stream=True).silent
