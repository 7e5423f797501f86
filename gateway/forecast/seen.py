"""What forecasts see of the requests that are served, and who makes forecasts of it."""

from __future__ import annotations

from gateway.forecast.calibration import Calibration
from gateway.forecast.forecaster import Forecaster
from gateway.forecast.habits import Habits
from gateway.forecast.live import Known
from gateway.metering.meters.forecast import ForecastMeter
from gateway.pacing.pacer import Pacer
from gateway.planning.planner import Planner


class Seen:
    """Habits and calibration; ``meters`` are to be told of all facts."""

    def __init__(self, counts: ForecastMeter) -> None:
        self._counts = counts
        self._habits, self._calibration = Habits(), Calibration(counts)
        self.meters = (self._habits, self._calibration)

    def forecaster(self, planner: Planner, pacer: Pacer | None) -> Forecaster:
        """Return who makes forecasts of what was seen."""
        known = Known(pacer, self._habits)
        return Forecaster(planner, known, self._calibration, self._counts)
