"""What the routers are set to: one section each, where one has settings."""

from __future__ import annotations

from router_service.section import Section


class SemknnSettings(Section):
    """The router of nearest neighbours."""
