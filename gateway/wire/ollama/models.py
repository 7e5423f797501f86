"""Models, as this API lists and shows them. What it tells of files is empty: there are none."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from hashlib import sha256
from typing import Final

from techniques.core.json import Json, JsonObject

VERSION: Final = "0.14.0"
"""The version that clients are told: they use all that is served here, and look for no more."""
_FAMILY: Final = "lockgate"
_MODIFIED_AT: Final = "1970-01-01T00:00:00Z"
_TAG: Final = ":latest"


@dataclass(frozen=True, slots=True)
class Shown:
    """What is told of a model.

    ``name`` is what people see, ``listed`` what clients ask for, ``provider`` and ``model`` are
    whose it is and what it is called there; ``context`` is the size of its window, None: not known.
    """

    name: str
    listed: str
    provider: str
    model: str
    capabilities: tuple[str, ...]
    context: int | None = None


def tagged(name: str) -> str:
    """Return *name* with a tag: clients that find none add ``latest`` and look for that."""
    return name if ":" in name.rpartition("/")[2] else name + _TAG


def row(shown: Shown) -> JsonObject:
    """Return the row of a model in a list; another digest tells clients that it has changed."""
    digest = sha256(repr(astuple(shown)).encode()).hexdigest()
    return {
        "name": shown.name,
        "model": shown.listed,
        "modified_at": _MODIFIED_AT,
        "size": 0,
        "digest": digest,
        "details": _details(shown),
    }


def card(shown: Shown) -> JsonObject:
    """Return all that is told of one model."""
    info: dict[str, Json] = {
        "general.architecture": _FAMILY,
        "general.basename": shown.name,
        "general.type": "model",
    }
    if shown.context is not None:
        info[f"{_FAMILY}.context_length"] = shown.context
    return {
        "license": "",
        "modelfile": f"FROM {shown.listed}\n",
        "parameters": "",
        "template": "{{ .Prompt }}",
        "details": _details(shown),
        "model_info": info,
        "capabilities": list(shown.capabilities),
        "modified_at": _MODIFIED_AT,
    }


def _details(shown: Shown) -> JsonObject:
    return {
        "parent_model": "",
        "format": "",
        "family": shown.provider,
        "families": [shown.provider],
        "parameter_size": "",
        "quantization_level": "",
    }
