"""What is told of a fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from router_service.learning.off_policy import Value
from router_service.learning.promotion import Promotion
from router_service.learning.training import Trained
from router_service.parameters import Tuned, Weights
from techniques.core.json import JsonObject


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a fit has found, None: nothing; whether it may be served, ``why``, and its figures."""

    found: Weights | Tuned | None
    promoted: bool
    why: str
    figures: JsonObject


def figures_of(tried: Promotion) -> JsonObject:
    """Return what the trial on observed requests tells."""
    told: JsonObject = {"tried": tried.rows, "calibration": tried.slope}
    found = tried.comparison
    if found is None:
        return told
    if tried.fixed is not None:
        told["best_fixed"] = {"arm": tried.fixed[0], "utility": tried.fixed[1]}
    told |= {
        "current": _value(found.current),
        "candidate": _value(found.candidate),
        "gain": _value(found.gain),
        "snips": {
            "current": _value(found.current_snips),
            "candidate": _value(found.candidate_snips),
            "gain": _value(found.gain_snips),
        },
    }
    return told


def training_of(trained: Trained) -> JsonObject:
    """Return what *trained* has done on requests that it had not seen."""
    told = asdict(trained)
    del told["artifact"]
    return {**told, "alpha": trained.artifact.alpha}


def _value(value: Value) -> JsonObject:
    return {"mean": value.mean, "low": value.low, "high": value.high}
