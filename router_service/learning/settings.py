"""What is learnt of one's own traffic, and what that may cost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from router_service.groundwork.section import Section

_Share = Annotated[float, Field(ge=0, le=1)]
_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ExplorationSettings(Section):
    """When something else is done than what is best as far as is known.

    It may cost ``share`` of what the last 24 hours cost, and for one request at most
    ``max_usd``. ``rate`` is how often it is done where there is something to find out.
    """

    share: _Share = 0.03
    max_usd: _Dollars = 0.05
    rate: _Share = 0.1


class SamplingSettings(Section):
    """What is asked beside the traffic, to learn how good its answers are.

    It may cost ``share`` of what the last 24 hours cost. ``judge_rate`` is the share of requests
    whose answer a judge compares with the plain one, ``trace_rate`` that of requests that are
    answered ``trace_samples`` times over. ``parallel`` of them are worked on at a time, ``queue``
    wait; more are let go.
    """

    share: _Share = 0.05
    judge_rate: _Share = 0.03
    trace_rate: _Share = 0.0
    trace_samples: int = Field(5, ge=2, le=10)
    parallel: int = Field(2, ge=1, le=64)
    queue: int = Field(100, ge=1, le=10_000)


class LearningSettings(Section):
    """Nothing is learnt unless it is asked for.

    ``judge`` is the model that judges samples, None for the one that judges for techniques.
    What was observed is deleted after ``ttl_days``. Every ``fit_every_h`` hours each process finds
    out anew what to decide by, and serves it if it is no worse; 0: only when it is asked to.
    With ``reasks`` who asks much the same again soon was not content with the answer.
    """

    enabled: bool = False
    judge: str | None = None
    exploration: ExplorationSettings = ExplorationSettings()
    sampling: SamplingSettings = SamplingSettings()
    ttl_days: float = Field(90.0, gt=0, allow_inf_nan=False)
    reasks: bool = False
    fit_every_h: float = Field(0.0, ge=0, le=8_760, allow_inf_nan=False)
