"""How a model is listed, in the shapes of both vendors, and which part of a list is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gateway.clock import utc_now
from gateway.policy.models import Model
from gateway.surfaces.numbers import whole
from pricing.cost import dollars
from techniques.core.errors import RequestRejected
from techniques.core.json import JsonObject

_CREATED: Final = 0
_CREATED_AT: Final = "1970-01-01T00:00:00Z"
_MOST: Final = 1000
_ACTIVE: Final = "active"


def openai_row(model: Model) -> JsonObject:
    """Return *model* as OpenAI lists one, with what OpenRouter's clients look for beside."""
    target = model.target
    row: JsonObject = {
        "id": target.shown,
        "object": "model",
        "created": _CREATED,
        "owned_by": target.provider,
    }
    if target.capabilities.context is not None:
        row["context_length"] = target.capabilities.context
    if model.max_output is not None:
        row["max_output_tokens"] = model.max_output
    if model.price is not None:
        price = model.price.at(utc_now().timestamp())
        row["pricing"] = {"prompt": dollars(price.input), "completion": dollars(price.output)}
    return row


def anthropic_row(model: Model) -> JsonObject:
    """Return *model* as Anthropic lists one."""
    name = model.target.shown
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": _CREATED_AT,
        "lifecycle": _ACTIVE,
        "deprecated_at": None,
        "retires_at": None,
        "max_input_tokens": model.target.capabilities.context,
        "max_tokens": model.max_output,
    }


def openai_list(models: Sequence[Model]) -> JsonObject:
    """Return all *models*: OpenAI's list has no pages."""
    return {"object": "list", "data": [openai_row(model) for model in models]}


def anthropic_page(models: Sequence[Model], query: Mapping[str, str]) -> JsonObject:
    """Return the page of *models* that *query* asks for; all of them where it states no limit.

    Raises:
        RequestRejected: A parameter is wrong.
    """
    names = [model.target.shown for model in models]
    limit = _limit(query.get("limit"))
    if "before_id" in query:
        end = _place(names, "before_id", query)
        start = max(end - limit, 0)
        more = start > 0
    else:
        start = _place(names, "after_id", query) + 1 if "after_id" in query else 0
        end = start + limit
        more = end < len(names)
    rows = [anthropic_row(model) for model in models[start:end]]
    first, last = (rows[0]["id"], rows[-1]["id"]) if rows else (None, None)
    return {"data": rows, "has_more": more, "first_id": first, "last_id": last}


def _limit(said: str | None) -> int:
    if said is None:
        return _MOST
    limit = whole(said, 1, _MOST)
    if limit is None:
        raise _wrong("limit", f"a whole number from 1 to {_MOST}")
    return limit


def _place(names: Sequence[str], param: str, query: Mapping[str, str]) -> int:
    if "before_id" in query and "after_id" in query:
        raise _wrong("before_id", "left out where after_id is given")
    try:
        return names.index(query[param])
    except ValueError:
        raise _wrong(param, "the id of a model in this list") from None


def _wrong(param: str, should: str) -> RequestRejected:
    return RequestRejected(f"{param!r} must be {should}.", code="invalid_value", param=param)
