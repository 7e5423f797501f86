"""The router's settings: the gateway's section ``router``, and the router service's own file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from router_service.embedding.settings import EmbeddingSettings
from router_service.learning.settings import LearningSettings
from router_service.routers.settings import RoutersSettings
from router_service.store.settings import StoreSettings


class RouterSettings(RoutersSettings):
    """Which router decides, and all that it needs."""

    type: Literal["fixed", "semknn", "acm_table", "acm_linear"] = "fixed"
    lambda_: float = Field(1.0, alias="lambda", ge=0, allow_inf_nan=False)
    embedding: EmbeddingSettings = EmbeddingSettings()
    learning: LearningSettings = LearningSettings()
    store: StoreSettings = StoreSettings()
