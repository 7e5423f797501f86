"""What a fit leaves: what a router decides by, beside what was observed."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import Field

from router_service.groundwork.section import Section
from router_service.routers.settings import RoutersSettings, SemknnSettings
from techniques.parts.linear import Artifact

SettingsT = TypeVar("SettingsT", bound=RoutersSettings)


class Weights(Section):
    """Those of ``acm_linear``."""

    router: Literal["acm_linear"] = "acm_linear"
    artifact: Artifact


class Tuned(Section):
    """How ``semknn`` looks at its neighbours; the same fields as in its settings."""

    router: Literal["semknn"] = "semknn"
    neighbours: int = Field(ge=1, le=1000)
    kappa: float = Field(gt=0, allow_inf_nan=False)
    caution: float = Field(ge=0, le=3)


Parameters: TypeAlias = Annotated[Weights | Tuned, Field(discriminator="router")]


def tuned(settings: SemknnSettings) -> Tuned:
    """Return what a fit may change of *settings*."""
    return Tuned(neighbours=settings.neighbours, kappa=settings.kappa, caution=settings.caution)


def applied(settings: SettingsT, found: Weights | Tuned | None) -> SettingsT:
    """Return *settings* with what was *found* in their place, None: as they are."""
    if found is None:
        return settings
    if isinstance(found, Weights):
        linear = settings.acm_linear.model_copy(update={"weights": found.artifact})
        return settings.model_copy(update={"acm_linear": linear})
    values = found.model_dump(exclude={"router"})
    return settings.model_copy(update={"semknn": settings.semknn.model_copy(update=values)})
