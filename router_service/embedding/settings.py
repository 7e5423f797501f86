"""How prompts become vectors."""

from __future__ import annotations

from router_service.section import Section


class EmbeddingSettings(Section):
    """Which encoder is used."""
