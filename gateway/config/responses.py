"""What a configuration says of responses that are kept, so that a client can come back to them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gateway.config.values import Seconds, Size, worded
from router_service.groundwork.section import Section


class ResponsesConfig(Section):
    """Whether answers of ``/v1/responses`` are kept in the database, and for how long.

    With ``store: on`` prompts and answers of clients that do not say ``store: false`` lie there,
    encrypted with ``journal.encryption`` if it is set, until ``retention`` after they were last
    used. One that is larger than ``max_size`` is not kept; of one key the latest ``per_key`` are.
    """

    store: Annotated[Literal["off", "on"], BeforeValidator(worded)] = "off"
    retention: Seconds = Field(30 * 86_400.0, gt=0)
    max_size: Size = Field(8 * 2**20, ge=1024)
    per_key: int = Field(100_000, ge=1)
