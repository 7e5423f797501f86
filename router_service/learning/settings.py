"""What is learnt of one's own traffic, and what that may cost."""

from __future__ import annotations

from router_service.section import Section


class LearningSettings(Section):
    """Nothing is learnt unless it is asked for."""

    enabled: bool = False
