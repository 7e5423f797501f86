"""Who chooses for ``technique: auto``, and among what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from router_service.arms import Arm, arm_of
from router_service.settings import RouterSettings


def _arm(name: str) -> str:
    return arm_of(name).name


ArmName = Annotated[str, AfterValidator(_arm)]
"""``TECHNIQUE/SIZE/CHANNEL/EFFORT``, without the defaults at its end."""


class RouterConfig(RouterSettings):
    """Which router chooses, and what may be chosen.

    ``url`` is that of a router service, else the router is in this process; ``token`` is what it
    wants as a bearer token. Who has not chosen after ``timeout_ms`` is not waited for. ``arms`` are
    what there is to choose from, None: what suits the models that there are. A router in this
    process looks every ``refresh_s`` seconds for something new to learn.
    """

    url: str | None = Field(None, pattern=r"^https?://\S+$")
    token: SecretStr | None = None
    timeout_ms: float = Field(20.0, gt=0, le=10_000)
    arms: tuple[ArmName, ...] | None = Field(None, min_length=1, max_length=64)
    refresh_s: float = Field(5.0, ge=0.1, le=3_600)

    @property
    def stated_arms(self) -> tuple[Arm, ...]:
        """The arms that are stated, here or by the rows of a table."""
        by_table = self.acm_table.arms if self.type == "acm_table" else ()
        return tuple(map(arm_of, self.arms or by_table))


def channels_of(config: RouterConfig) -> Iterator[str]:
    """Yield the models that the arms name."""
    yield from (arm.channel for arm in config.stated_arms if arm.channel != Arm().channel)
