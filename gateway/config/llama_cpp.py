"""What a configuration says of a server of llama.cpp, and of what a token costs at home."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Protocol

from pydantic import BeforeValidator, Field, model_validator

from gateway.config.values import Seconds, Size
from router_service.groundwork.section import Section


def _auto(value: object) -> object:
    return None if value == "auto" else value


class KvConfig(Section):
    """What slots have computed is kept on disk while their sessions do not call.

    ``folder`` is where the gateway sees the server's ``--slot-save-path``, ``model_file`` where it
    sees the model's file, if not where the server does. A session of ``min_tokens`` or more is
    saved when it has not called for ``idle_s``, or gives way to another, and deleted after
    ``keep_s``. ``min_free`` bytes stay free (``auto``: 500 MB or five times the largest file; 0:
    nobody looks); with ``prune`` the oldest files give way. ``tenants``: sessions of callers with
    keys are kept in a folder each, or not at all. ``reserve_s`` is kept before a deadline for
    saving (measured if absent). Saving or restoring may take ``timeout_s``.
    """

    folder: Path
    model_file: Path | None = None
    min_tokens: int = Field(512, ge=1)
    idle_s: Seconds = Field(60.0, ge=0)
    keep_s: Seconds = Field(86_400.0, gt=0)
    min_free: Annotated[Size | None, BeforeValidator(_auto)] = None
    prune: bool = True
    tenants: Literal["forbid", "folders"] = "forbid"
    reserve_s: Seconds | None = Field(None, ge=0)
    timeout_s: Seconds = Field(60.0, gt=0)


class VramConfig(Section):
    """The graphics card that the server uses, counted from 0, and what a token takes of it."""

    card: int = Field(0, ge=0)
    bytes_per_token: float = Field(gt=0)


class LlamaCppConfig(Section):
    """The provider is a server of llama.cpp, started with ``--slots``.

    It is looked at every ``poll_s``; ``margin`` tokens of its context are not counted on.
    """

    kv: KvConfig | None = None
    margin: int = Field(256, ge=0)
    poll_s: Seconds = Field(5.0, gt=0)
    vram: VramConfig | None = None


class LocalPowerConfig(Section):
    """What a model costs on a machine of one's own.

    An hour costs ``watts`` at ``usd_per_kwh``, and ``hourly_usd`` for the machine itself: what it
    takes to replace it. ``tokens_per_s`` are written ones, ``input_tokens_per_s`` read ones, the
    same if absent.
    """

    watts: Decimal | None = Field(None, gt=0)
    usd_per_kwh: Decimal | None = Field(None, ge=0)
    hourly_usd: Decimal | None = Field(None, ge=0)
    tokens_per_s: Decimal = Field(gt=0)
    input_tokens_per_s: Decimal | None = Field(None, gt=0)

    @model_validator(mode="after")
    def _costs_something_known(self) -> LocalPowerConfig:
        if (self.watts is None) != (self.usd_per_kwh is None):
            raise ValueError("watts and usd_per_kwh need each other")
        if self.watts is None and self.hourly_usd is None:
            raise ValueError("say what an hour costs: watts and usd_per_kwh, or hourly_usd")
        return self


class Hosting(Protocol):
    """A provider, as far as it is looked at here."""

    @property
    def llama_cpp(self) -> LlamaCppConfig | None:
        """What is said of its server."""
        ...


def unfit_hosts(providers: Mapping[str, Hosting], workers: int) -> Iterator[str]:
    """Yield what of the *providers* cannot work with so many *workers*, a line each."""
    folders: dict[Path, str] = {}
    for name, row in providers.items():
        kv = row.llama_cpp.kv if row.llama_cpp else None
        if kv is None:
            continue
        at = f"providers.{name}.llama_cpp.kv"
        if workers > 1:
            yield f"{at}: needs server.workers: 1; who sits in a slot is known to one process only"
        if (other := folders.setdefault(kv.folder, name)) != name:
            yield f"{at}.folder: it is that of {other!r}"
