"""What a configuration says of web pages from elsewhere."""

from __future__ import annotations

import re
from typing import Final

from pydantic import field_validator

from router_service.groundwork.section import Section

_ANY: Final = "*"
_WEB: Final = re.compile(r"https?://(?:(?:\*\.)?[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::(?:\*|\d{1,5}))?")
_OTHER: Final = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*://(?:\*|[A-Za-z0-9_.-]+)")


class CorsConfig(Section):
    """Pages of which ``origins`` may ask the gateway from a browser; absent, of none.

    Such as ``https://app.example.com``, ``https://*.example.com``, ``http://localhost:*``,
    ``app://obsidian.md``, or ``*`` for all, which does not hold where there are no keys.
    """

    origins: tuple[str, ...] = ()

    @field_validator("origins")
    @classmethod
    def _are_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if origin != _ANY and not (_WEB.fullmatch(origin) or _OTHER.fullmatch(origin)):
                raise ValueError(
                    f"{origin!r} is no origin: scheme://host or scheme://host:port in lower case, "
                    "without a path; a * for what stands before a domain, for a port, or for all"
                )
        return origins
