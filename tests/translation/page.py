"""The tables of docs/translation.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from tests.translation.outcomes import UPSTREAMS, Field, Outcome, Upstream, fields, outcomes
from tests.translation.places import PLACES
from tests.translation.samples import CHAT, MESSAGES, RESPONSES, members

_SEEN_TO: Final = "the gateway sees to it"
_STOPS: Final = "the gateway stops there, where the provider cannot be asked to"
_USUAL: Final = "asks for what is done anyway"
_LABEL: Final = "a label that says nothing to a model"
EMPTY: Final = "nothing is in it"
QUIET: Final[Mapping[str, str]] = {
    "openai_chat.model": _SEEN_TO,
    "openai_chat.stream_options": _SEEN_TO,
    "openai_chat.messages.assistant": "nothing was said",
    "openai_chat.stop": _STOPS,
    "anthropic.stop_sequences": _STOPS,
    "openai_chat.response_format.text": _USUAL,
    "openai_responses.model": _SEEN_TO,
    "openai_responses.store": _SEEN_TO,
    "openai_responses.stream_options": _SEEN_TO,
    "openai_responses.max_tool_calls": "without tools of the provider's own it counts nothing",
    "openai_responses.input.assistant.type": _LABEL,
    "openai_responses.input.function_call_output.call_id": "it is there in any case",
    "openai_responses.input.function_call_output.name": "the call tells it",
    "openai_responses.input.function_call_output.namespace": "the call tells it",
    "openai_responses.input.tool_search_call.call_id": "it is there in any case",
    "openai_responses.input.tool_search_output.call_id": "it is there in any case",
    "openai_responses.input.content.input_image.image_url": "it is there in any case",
    "openai_responses.input.content.input_file.file_data": "it is there in any case",
    "openai_responses.input.content.input_file.filename": "it is there in any case",
    "openai_responses.reasoning": EMPTY,
    "openai_responses.reasoning.summary": _USUAL,
    "openai_responses.reasoning.generate_summary": _USUAL,
    "openai_responses.text": EMPTY,
    "openai_responses.text.format.text": _USUAL,
    "openai_responses.text.format.json_schema.strict": "such a schema is enforced in any case",
    "anthropic.model": _SEEN_TO,
    "anthropic.service_tier": "where there are no tiers, all are served so",
    "anthropic.messages.content.text.citations": "no model is told of its sources again",
    "anthropic.tools.custom.type": _LABEL,
    "anthropic.thinking.disabled": "a model of which nothing is known is taken so",
    "anthropic.thinking.adaptive": "a model of which nothing is known is asked for nothing",
    "anthropic.thinking.enabled.display": "what can be read is always shown",
    "anthropic.thinking.adaptive.display": "what can be read is always shown",
    "anthropic.output_config": EMPTY,
}
"""Fields that may go without a word, and why."""
_LABELS: Final = ("openai_responses.input.",)


def is_quiet(field: Field) -> bool:
    """Tell whether *field* may be lost without a warning: it asks for nothing."""
    named = field.told.startswith(_LABELS) and field.name in {"id", "status", "type"}
    return named or field.told in QUIET


HEAD: Final[Mapping[str, tuple[str, ...]]] = {
    client: ("asked for", *(one.title for one in UPSTREAMS if one.provider.dialect != client))
    for client in (CHAT, RESPONSES, MESSAGES)
}


def rows(client: str) -> Iterator[tuple[str, ...]]:
    """Yield what a *client* asks for and what becomes of it; what fares alike, in one row."""
    others = [one for one in UPSTREAMS if one.provider.dialect != client]
    for place in PLACES:
        if place.client != client:
            continue
        alike: dict[tuple[str, ...], dict[str, None]] = {}
        for field in (one for one in fields() if one.place is place and _is_told(one, others)):
            cells = tuple(_cell(field, outcomes(one)[field]) for one in others)
            alike.setdefault(cells, {})[f"`{field.told.removeprefix(client)[1:]}`"] = None
        for cells, names in alike.items():
            yield ", ".join(names), *cells


def _is_told(field: Field, others: list[Upstream]) -> bool:
    """Tell whether *field* is worth a place: of one in an object, if it fares otherwise than that.

    What is said goes without saying there, unless the object itself says nothing.
    """
    if not field.place.name or not field.name:
        return (not is_quiet(field) or QUIET.get(field.told) == _STOPS) and (
            bool(field.name) or len(list(members(field.place.kind))) > 1
        )
    if QUIET.get(f"{field.place.client}.{field.place.name}") == EMPTY:
        return not is_quiet(field)
    found = [outcomes(one) for one in others]
    whole = replace(field, name="")
    lossy = any(one[field].lost or one[field].refused for one in found)
    return lossy and any(one[field] != one[whole] for one in found)


def _cell(field: Field, outcome: Outcome) -> str:
    if outcome.refused:
        return f"400 `{outcome.refused}`"
    if outcome.lost:
        return ", ".join(f"`{code}`" for code in outcome.lost)
    if outcome.silent:
        return "the gateway stops" if QUIET.get(field.told) == _STOPS else "-"
    if field.place.name or field.name in outcome.said:
        return "said"
    return "as " + ", ".join(f"`{name}`" for name in outcome.said)
