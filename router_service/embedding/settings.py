"""How prompts become vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from router_service.groundwork.section import Section


class EmbeddingSettings(Section):
    """Which encoder is used, and what it needs.

    ``mixed``, ``static`` and ``hashed`` need nothing; ``fastembed`` the optional package of that
    name and a model on this machine, in ``folder`` or in fastembed's own cache; ``upstream`` a
    ``url`` that ends before ``/embeddings``. ``model`` is for the last two. Of a text at most
    ``characters`` are looked at; the vectors of the last ``remembered`` texts are kept.
    """

    kind: Literal["mixed", "static", "hashed", "fastembed", "upstream"] = "mixed"
    model: str = ""
    folder: Path | None = None
    url: str = ""
    api_key: SecretStr | None = None
    allow_private: bool = False
    dimensions: int | None = Field(None, ge=8, le=4096)
    timeout_s: float = Field(1.0, gt=0, le=60)
    characters: int = Field(8000, ge=100, le=200_000)
    remembered: int = Field(2048, ge=0, le=1_000_000)

    @model_validator(mode="after")
    def _whole(self) -> EmbeddingSettings:
        """Refuse what the kind cannot do without, or knows nothing of."""
        asked = self.kind == "upstream"
        if asked != bool(self.url) or (asked and not self.model):
            raise ValueError("kind upstream, and no other, takes a url, and a model with it")
        if asked and not _is_http(self.url):
            raise ValueError("url is no http or https address")
        if self.folder is not None and self.kind != "fastembed":
            raise ValueError("folder is for the kind fastembed")
        return self


def _is_http(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
