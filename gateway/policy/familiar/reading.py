"""From a request to what it says in the words of other gateways, and to its body without that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from gateway.policy.familiar import rows
from gateway.policy.familiar.row import Means, Nothing, Refused, Row, ShowsUsage, Tags
from gateway.policy.familiar.rows import (
    BEGINNINGS,
    FIELDS,
    OPENROUTER,
    PLACES,
    SHAPES,
    SUFFIXES,
    header_row,
)
from gateway.policy.familiar.values import APPROACHES
from pricing.record import record
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json, JsonObject

_LONGEST_TAGS: Final = 256
_LONGEST_NAME: Final = 64
_STREAM: Final = "stream_options"
_BETAS: Final = {"fallbacks": "server-side-fallback"}
"""Fields that are Anthropic's own where a beta is asked for whose name begins so.

Source: platform.claude.com/docs/en/build-with-claude/refusals-and-fallback.
"""


class Known(Protocol):
    """What is known of a model's name."""

    def has(self, name: str) -> bool:
        """Return whether there is a model called so, a technique before it or not."""
        ...

    def takes_over(self, name: str) -> bool:
        """Return whether it is asked at OpenRouter, which reads its own words itself."""
        ...

    @property
    def held(self) -> bool:
        """Whether the caller is held to some models, so that no other may be named elsewhere."""
        ...


@record(frozen=True, slots=True)
class Said:
    """One wish in another gateway's words: *at* is where it was said."""

    row: Row
    at: str
    value: Json


@dataclass(slots=True)
class Found:
    """What was found: the body without it, wishes in the order of their weight, warnings."""

    body: JsonObject
    said: list[Said] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    tagged: str = ""
    warnings: list[Warned] = field(default_factory=list)

    def ignore(self, name: str) -> None:
        """Warn of a setting that is not acted on."""
        self.warnings.append(Warned("familiar_ignored", name[:_LONGEST_NAME]))

    def tags_text(self) -> str:
        """Return the tags as one text; those for which there is no room are left out."""
        text = ""
        for tag in self.tags:
            plain = "".join(c if c.isprintable() else "?" for c in tag)
            longer = f"{text}, {plain}" if text else plain
            if len(longer) > _LONGEST_TAGS:
                self.ignore(self.tagged)
                break
            text = longer
        return text


def find(headers: Mapping[str, str], body: JsonObject, known: Known) -> Found:
    """Return what *headers* and *body* say in the words of other gateways.

    Raises:
        RequestRejected: A value means nothing, or must not be asked for.
    """
    found = Found(body)
    for name in [name for name in headers if name.startswith(BEGINNINGS)]:
        row = header_row(name)
        if row is not None:
            _take(found, row, name, headers[name])
    if not FIELDS.keys().isdisjoint(body):
        _find_fields(found, known, _anthropics(headers))
    _find_in_name(found, known)
    if found.said:
        found.said.sort(key=lambda one: PLACES[one.row.name])
    return found


def _anthropics(headers: Mapping[str, str]) -> frozenset[str]:
    """Return the fields that mean something at Anthropic, by a beta that *headers* ask for."""
    asked = headers.get("anthropic-beta", "")
    return frozenset(name for name, beta in _BETAS.items() if beta in asked)


def _find_fields(found: Found, known: Known, others: frozenset[str]) -> None:
    body = found.body
    skips = OPENROUTER if known.takes_over(_model(body)) else ""
    for name in (FIELDS.keys() & body.keys()) - others:
        if not isinstance(body[name], SHAPES.get(name, object)):
            continue
        for row in FIELDS[name]:
            if row.vendor != skips or (row.name == "models" and known.held):
                _find_field(found, row, name)
    _first_of_models(found, body)


def _find_field(found: Found, row: Row, name: str) -> None:
    _, _, inner = row.name.partition(".")
    held = found.body.get(name)
    if inner:
        if not isinstance(held, dict) or inner not in held:
            return
        value = held[inner]
        if not isinstance(value, SHAPES.get(row.name, object)):
            return
        left = {one: it for one, it in held.items() if one != inner}
    else:
        value, left = held, {}
    _take(found, row, row.name, value)
    body = {one: it for one, it in found.body.items() if one != name}
    found.body = {**body, name: left} if left else body


def _take(found: Found, row: Row, at: str, value: Json) -> None:
    if row.when is not None and not row.when(found.body):
        return
    match row.does:
        case Means() as means if value is not None:
            _translate(found, Said(row, at, value), means)
        case Tags() as tags:
            _tag(found, Said(row, at, value), tags)
        case Nothing(told=True) as nothing if nothing.is_worth_it(value):
            found.ignore(at)
        case Refused() as refused if refused.is_asked(value):
            raise RequestRejected(f"{at} {refused.why}.", code="invalid_wish", param=at)
        case ShowsUsage():
            _show_usage(found, value)
        case _:
            pass  # there is nothing to say


def _translate(found: Found, said: Said, means: Means) -> None:
    try:
        found.said.append(replace(said, value=means.read(said.at, said.value)))
    except RequestRejected:
        if not means.lenient:
            raise
        found.ignore(said.at)


def _tag(found: Found, said: Said, tags: Tags) -> None:
    at, name = said.at, said.row.name
    try:
        read = tags.read(at, said.value)
    except RequestRejected:
        found.ignore(at)
        return
    if name.endswith("*"):
        read = [tag.replace("*", at.removeprefix(name[:-1]), 1) for tag in read]
    found.tagged = found.tagged or at
    found.tags += read


def _show_usage(found: Found, value: Json) -> None:
    """Have the stream of a chat client tell its usage; what is no stream tells it anyway."""
    body = found.body
    if value.get("include") is not True or body.get("stream") is not True or "messages" not in body:
        return
    options = body.get(_STREAM)
    if options is None or isinstance(options, dict):
        found.body = {**body, _STREAM: {"include_usage": True, **(options or {})}}


def _first_of_models(found: Found, before: JsonObject) -> None:
    """Take the first of OpenRouter's list for the model, where that is not named beside it."""
    for place, one in enumerate(found.said):
        if one.at != "models":
            continue
        names = list(one.value)
        model = before.get("model")
        if model is None and names:
            model = names[0]
            found.body = {**found.body, "model": model}
        rest = [name for name in names if name != model]
        found.said[place : place + 1] = [Said(one.row, one.at, rest)] if rest else []
        return


def _model(body: JsonObject) -> str:
    model = body.get("model")
    return model if isinstance(model, str) else ""


def _find_in_name(found: Found, known: Known) -> None:
    """Read what OpenRouter and OptiLLM have in names, where no model is called so."""
    name = _model(found.body)
    for suffix in SUFFIXES:
        if name.endswith(suffix) and not known.has(name):
            plain = name.removesuffix(suffix)
            if known.has(plain):
                found.ignore(name)
                _rename(found, plain)
            return
    for row, approach, model in _approaches(name):
        if not known.has(name) and known.has(model):
            _take(found, row, "model", approach)
            _rename(found, model)
            return


def _approaches(name: str) -> Iterator[tuple[Row, str, str]]:
    """Yield an approach, or several, before a model's name, where *name* may be that."""
    approach, dash, model = name.partition("-")
    if dash and not APPROACHES.keys().isdisjoint(approach.replace("|", "&").split("&")):
        yield rows.TABLE[-1], approach, model


def _rename(found: Found, model: str) -> None:
    found.body = {**found.body, "model": model}
