"""What the routers are set to: one section each, where one has settings."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from router_service.groundwork.section import Section
from router_service.routers.table_settings import AcmTableSettings
from techniques.parts.linear import Artifact


class SemknnSettings(Section):
    """The router of nearest neighbours."""

    neighbours: int = Field(40, ge=1, le=1000)
    kappa: float = Field(8.0, gt=0, allow_inf_nan=False)
    caution: float = Field(0.5, ge=0, le=3)
    strict_caution: float = Field(1.0, ge=0, le=3)
    half_life_days: float = Field(30.0, gt=0, allow_inf_nan=False)
    latency_weight: float = Field(0.0, ge=0, allow_inf_nan=False)
    rows: int = Field(50_000, ge=1, le=1_000_000)


class AcmLinearSettings(Section):
    """What training left; until there is such, the first arm on offer is taken.

    ``file`` is where it is kept: whoever makes the router reads it, and gives it as ``weights``.
    """

    file: Path | None = None
    weights: Artifact | None = None


class RoutersSettings(Section):
    """Those of every router; one reads its own and no other's."""

    semknn: SemknnSettings = SemknnSettings()
    acm_table: AcmTableSettings = AcmTableSettings()
    acm_linear: AcmLinearSettings = AcmLinearSettings()
