"""What of a configuration can change while it is served, what has changed, and by what it is known.

Whatever is opened once for the life of the process is left as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson
from pydantic import BaseModel

from gateway.config.schema import Config

_OPENED: Final[Mapping[str, tuple[str, ...] | None]] = {
    "server": ("host", "port", "workers", "drain_s", "idle_s"),
    "pacing": ("predictor", "queue"),
    "store": None,
    "attention": ("expires", "attempts", "retry_s", "allow_private"),
    "database": None,
    "tracing": None,
    "journal": None,
    "router": (
        "type",
        "semknn",
        "acm_table",
        "acm_linear",
        "embedding",
        "learning",
        "store",
        "url",
        "token",
        "refresh_s",
    ),
}
"""Sections that are opened once, and which of their settings are; None: all."""


def kept(stated: Config, served: Config) -> tuple[Config, list[str]]:
    """Return what of *stated* can be served from now on, and the settings that want a restart.

    These are as they are in *served*.
    """
    sections: dict[str, Any] = {}
    waiting: list[str] = []
    for section, names in _OPENED.items():
        then, now = getattr(served, section), getattr(stated, section)
        if section == "attention" and not then.persons and now.persons:
            names = tuple(type(now).model_fields)  # nobody is there who asks people
        fields = tuple(type(now).model_fields) if names is None else names
        sections[section] = now.model_copy(update={name: getattr(then, name) for name in fields})
        waiting += [
            path
            for name in fields
            for path in differences(getattr(then, name), getattr(now, name), f"{section}.{name}")
        ]
    rows, hosts = _providers(stated, served)
    return stated.model_copy(update={**sections, "providers": rows}), waiting + hosts


def _providers(stated: Config, served: Config) -> tuple[Mapping[str, Any], list[str]]:
    """Return the providers: a server whose slots are looked after stays as it is."""
    rows = dict(stated.providers)
    waiting = []
    for name, then in served.providers.items():
        now = rows.get(name)
        is_host = then.llama_cpp is not None or (now is not None and now.llama_cpp is not None)
        if is_host and now != then:
            rows[name] = then
            waiting.append(f"providers.{name}")
    return rows, waiting


def differences(then: Any, now: Any, at: str = "") -> Iterator[str]:
    """Yield the paths at which *now* is another than *then*, without what stands there."""
    if then == now:
        return
    known, found = _parts(then), _parts(now)
    if known is None or found is None:
        yield at
        return
    for name in dict.fromkeys((*known, *found)):
        path = f"{at}.{name}" if at else name
        if name in known and name in found:
            yield from differences(known[name], found[name], path)
        else:
            yield path


def _parts(value: Any) -> Mapping[str, Any] | None:
    """Return what *value* is made of, by name, None if it is one thing."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields.items()
        return {field.alias or name: getattr(value, name) for name, field in fields}
    if isinstance(value, Mapping):
        return value
    if isinstance(value, tuple) and all(hasattr(row, "name") for row in value):
        return {row.name: row for row in value}
    return None


def digest(config: Config, beside: bytes = b"") -> str:
    """Return by what *config*, with what a file *beside* it says, is known: 64 hex digits.

    It is the same wherever the gateway listens, and tells nothing of secrets.
    """
    told = config.model_dump(mode="json", exclude={"database": True, "server": {"host", "port"}})
    for row in told["providers"].values():
        row["headers"] = sorted(row["headers"])
    text = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text + b"\0" + beside).hexdigest()
