"""The options that a technique runs with: the configuration's under the request's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Final, NoReturn, TypeAlias

from pydantic import BaseModel, ValidationError

from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.registry import Card, Cards
from techniques.core.values import field_at, names_in, values_of
from techniques.parts.tables import CARDS

Path: TypeAlias = tuple[int | str, ...]
_LONGEST: Final = 64  # characters of a name that are told
_SIZES: Final = (
    "num_samples",
    "max_rounds",
    "num_verification_questions",
    "num_proposers",
    "max_samples",
    "max_iterations",
)
"""Options that say how much of a technique is done: how many draws, rounds or questions."""


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


def size_option(card: Card) -> str:
    """Return the name of the option that says how much of *card* is done.

    Raises:
        RequestRejected: There is none.
    """
    for name in _SIZES:
        if name in card.options.model_fields:
            return name
    raise RequestRejected(f"{card.name} has no size.", code="invalid_option", param="technique")


def options_of(card: Card, given: Mapping[str, Json], cards: Cards, at: str) -> BaseModel:
    """Return the options of *card*, one of *cards*, as they are *given* in the field *at*.

    Raises:
        RequestRejected: There is no such option, its value is wrong, or one must be given.
    """
    try:
        return card.options.model_validate(given, context={CARDS: cards})
    except ValidationError as error:
        _refuse(card, error, at)


def meant(name: str, known: Iterable[str]) -> str:
    """Return a question whether one of *known* was meant by *name*, "" if none is like it."""
    near = get_close_matches(name[:_LONGEST], list(known), 1)
    return f" Did you mean {near[0]}?" if near else ""


def misnamed(name: str, known: Collection[str], behind: str) -> str:
    """Return what was taken for something else in the *name* of a model that there is not.

    "" if nothing was. *known* are the techniques, *behind* is the model that stands behind the
    first slash, if one does.
    """
    first, slash, _ = name.partition("/")
    if not slash and name in known:
        return f" {name!r} is a technique, and stands before a model's name: {name}/MODEL."
    return f" {first[:64]!r} is no technique.{meant(first, known)}" if slash and behind else ""


def complaint(card: Card, path: Path, kind: str, message: str) -> str:
    """Return what is wrong with the option of *card* at *path*, and what would be right.

    *kind* and *message* are pydantic's. What is said goes on where the option was named.
    """
    schema = card.options.model_json_schema()
    if kind == "extra_forbidden":
        known = names_in(field_at(schema, path[:-1]))
        return f"does not exist; there are {', '.join(known)}.{meant(str(path[-1]), known)}"
    takes = values_of(field_at(schema, path)).replace("`", "") if path else ""
    it_takes = f" It takes {takes}." if takes else ""
    if kind == "missing":
        return f"is missing.{it_takes}"
    plain = message.removeprefix("Value error, ").replace("Input should be", "must be")
    return f"{plain if plain.startswith('must be') else f'is wrong: {plain}'}.{it_takes}"


def _refuse(card: Card, error: ValidationError, at: str) -> NoReturn:
    fault = error.errors(include_url=False, include_input=False)[0]
    path = fault["loc"]
    name = ".".join(str(part)[:_LONGEST] for part in path)
    said = complaint(card, path, fault["type"], fault["msg"])
    named = f"The option {name!r} of {card.name}" if name else f"What {card.name} was given"
    raise RequestRejected(f"{named} {said}", code="invalid_option", param=at)
