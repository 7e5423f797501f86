"""What a configuration says of traces: whether they are kept, and where they go."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, field_validator

from router_service.groundwork.section import Section


class TracingConfig(Section):
    """Traces go by OTLP over HTTP to ``otlp``, the address of a collector; None: none are kept.

    Of the traces that begin here ``sample`` (0 to 1) are written down; of one that a client has
    begun, the client decides. ``service`` is what this gateway is called in them. A header that
    carries a credential is written ``${NAME}`` or ``file:PATH``.
    """

    otlp: str | None = None
    sample: float = Field(1.0, ge=0, le=1)
    service: str = "lockgate"
    headers: Mapping[str, str] = {}

    @field_validator("otlp")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("give the http:// or https:// address of a collector")
        return value
