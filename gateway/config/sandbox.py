"""Whether, and where, code that a model wrote may be run."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from gateway.config.values import Seconds, Size, worded
from router_service.groundwork.section import Section


class SandboxConfig(Section):
    """Running what models wrote, to see whether it works. May be written as its ``kind`` alone.

    ``process``: behind the walls that this host's kernel puts up (Linux 5.14 or later), or, if
    ``trusted``, without any. ``docker``: in containers of ``image``, which must be there already.
    ``memory`` bounds each process of a program, in docker all of them together; ``at_once``
    programs run beside each other.
    """

    kind: Annotated[Literal["off", "process", "docker"], BeforeValidator(worded)] = "off"
    seconds: Seconds = Field(10.0, gt=0, le=600)
    memory: Size = Field(256 * 2**20, ge=32 * 2**20)
    at_once: int = Field(2, ge=1, le=256)
    image: str = "python:3.13-slim"
    trusted: bool = False

    @model_validator(mode="before")
    @classmethod
    def _in_full(cls, stated: Any) -> Any:
        return {"kind": stated} if isinstance(stated, str | bool) else stated
