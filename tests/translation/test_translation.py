"""Each field that the SDKs' types have is said to each provider, or its loss has a name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.upstream import shared
from tests.translation.outcomes import UPSTREAMS, Field, Outcome, Upstream, fields, outcomes
from tests.translation.page import EMPTY, HEAD, QUIET, is_quiet, rows
from tests.translation.samples import members

each_upstream = pytest.mark.parametrize("upstream", UPSTREAMS, ids=lambda one: one.title)
ELSEWHERE = {
    "openai_chat.n",  # several answers are asked for one by one
    "openai_responses.background",
    "openai_responses.conversation",
    "openai_responses.previous_response_id",
    "openai_responses.prompt",
    "openai_responses.input.item_reference",
}
"""What the gateway sees to before a body is written anew, or refuses."""
KNOWN_LOSSES = {"custom_tool_as_function", "max_tokens_raised", "thinking_dropped"}
"""What a value of an example comes to at its own provider: a chat client's tool that takes plain
text, a limit that is lower than the reasoning asked for, reasoning that nobody signed."""


def own_outcomes(upstream: Upstream) -> dict[Field, Outcome]:
    """Return what becomes of each field, but for those that go with the object around them."""
    found = outcomes(upstream)
    wholes = {field: found.get(replace(field, name="")) for field in found}
    return {
        f: one for f, one in found.items() if not f.place.name or one is not wholes[f] or not f.name
    }


@each_upstream
def test_nothing_is_lost_in_silence(upstream: Upstream) -> None:
    silent = {field.told for field, found in outcomes(upstream).items() if found.silent}
    quiet = {field.told for field in fields() if is_quiet(field)}

    assert silent - quiet == set()


def test_what_may_be_lost_is_so_somewhere() -> None:
    silent = {f.told for one in UPSTREAMS for f, found in outcomes(one).items() if found.silent}

    assert set(QUIET) - silent == set()


@each_upstream
def test_a_provider_of_the_clients_own_api_loses_nothing(upstream: Upstream) -> None:
    """Where a body is written anew: for a technique, or after some of it was left out."""
    own = {
        field.told: found
        for field, found in own_outcomes(upstream).items()
        if field.place.client == upstream.provider.dialect
    }

    refused = {told for told, found in own.items() if found.refused}
    assert refused <= ELSEWHERE
    assert {code for found in own.values() for code in found.lost} <= KNOWN_LOSSES


@each_upstream
def test_a_strict_client_is_refused_exactly_what_would_be_lost(upstream: Upstream) -> None:
    for field, found in own_outcomes(upstream).items():
        strict = field.at(upstream, strict=True)

        assert bool(strict.refused) == bool(found.refused or found.lost), field.told


def test_every_type_of_the_sdks_is_tried() -> None:
    """So that a union which is read otherwise in a new version does not become empty."""
    tried = {(one.place.client, one.place.name) for one in fields()}
    counts = {
        (field.place.client, field.place.name): len(list(members(field.place.kind)))
        for field in fields()
    }

    assert len(tried) == len(counts) >= 20
    assert counts["openai_responses", "input"] >= 30
    assert counts["anthropic", "messages.content"] >= 15
    assert len(fields()) > 400


def test_what_an_object_without_a_row_can_hold_has_one() -> None:
    shown = {
        f"{client}.{name.strip('`')}"
        for client in HEAD
        for row in rows(client)
        for name in row[0].split(", ")
    }
    empty = tuple(f"{told}." for told, why in QUIET.items() if why == EMPTY)
    held = {one.told for one in fields() if one.told.startswith(empty) and one.place.name}

    assert {one.partition(".")[2] for one in held} > {"output_config.effort", "reasoning.effort"}
    assert {one for one in held if one not in QUIET and one.count(".") == 2} <= shown


def test_a_field_that_is_lost_in_silence_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(shared._SAYS_NOTHING, "truncation", ("auto",))
    field = next(one for one in fields() if one.told == "openai_responses.truncation")

    assert field.at(UPSTREAMS[0]).silent
