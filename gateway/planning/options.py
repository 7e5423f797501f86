"""The options that a technique runs with: the configuration's under the request's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from pydantic import BaseModel, ValidationError

from gateway.policy.wishes import PREFIX
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.registry import Card
from techniques.core.values import values_of


def options_of(
    card: Card, configured: Mapping[str, Mapping[str, Json]], asked: Mapping[str, Json] | None
) -> BaseModel:
    """Return the options of *card*: those *configured* by technique, and over them those *asked*.

    Raises:
        RequestRejected: There is no such option, or its value is out of range.
    """
    given: dict[str, Json] = {}
    for name in (*card.aliases, card.name):
        given |= configured.get(name, {})
    given |= asked or {}
    try:
        return card.options.model_validate(given)
    except ValidationError as error:
        _refuse(card, error)


def _refuse(card: Card, error: ValidationError) -> NoReturn:
    fault = error.errors(include_url=False, include_input=False)[0]
    name = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        known = ", ".join(card.options.model_fields) or "none"
        message = f"{card.name} has no option {name!r}; it has {known}."
    else:
        field = card.options.model_json_schema()["properties"].get(str(fault["loc"][0]), {})
        takes = values_of(field).replace("`", "") if field else ""
        message = f"The option {name!r} of {card.name} is wrong: {fault['msg']}."
        message += f" It takes {takes}." if takes else ""
    raise RequestRejected(message, code="invalid_option", param=f"{PREFIX}params")
