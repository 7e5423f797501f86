"""The options that a technique runs with: the configuration's under the request's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from pydantic import BaseModel, ValidationError

from gateway.policy.wishes import PREFIX
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.registry import Card, Cards
from techniques.core.values import values_of
from techniques.parts.tables import CARDS


def configured_of(card: Card, configured: Mapping[str, Mapping[str, Json]]) -> dict[str, Json]:
    """Return the options of *card* among those *configured*, under any of its names."""
    given: dict[str, Json] = {}
    for name in (*card.aliases, card.name):
        given |= configured.get(name, {})
    return given


def can_do_with(card: Card, given: Mapping[str, Json]) -> bool:
    """Tell whether *given* has all the options that *card* must be given."""
    fields = card.options.model_fields.items()
    return all(name in given for name, field in fields if field.is_required())


def options_of(card: Card, given: Mapping[str, Json], cards: Cards) -> BaseModel:
    """Return the options of *card*, one of *cards*, as they are *given*.

    Raises:
        RequestRejected: There is no such option, its value is wrong, or one must be given.
    """
    try:
        return card.options.model_validate(given, context={CARDS: cards})
    except ValidationError as error:
        _refuse(card, error)


def _refuse(card: Card, error: ValidationError) -> NoReturn:
    fault = error.errors(include_url=False, include_input=False)[0]
    name = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        known = ", ".join(card.options.model_fields) or "none"
        message = f"{card.name} has no option {name!r}; it has {known}."
    elif fault["type"] == "missing" and len(fault["loc"]) == 1:
        message = f"{card.name} needs the option {name!r}."
    else:
        field = card.options.model_json_schema()["properties"].get(str(fault["loc"][0]), {})
        takes = values_of(field).replace("`", "") if field else ""
        message = f"The option {name!r} of {card.name} is wrong: {fault['msg']}."
        message += f" It takes {takes}." if takes else ""
    raise RequestRejected(message, code="invalid_option", param=f"{PREFIX}params")
