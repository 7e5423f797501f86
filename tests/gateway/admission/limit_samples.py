"""One answer, or more, of each vendor, and what is to be read from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from gateway.admission.limits import Vendor, read, vendor_of
from gateway.admission.reading import Reading, Told

_FOLDER = Path(__file__).parents[2] / "fixtures" / "limits"


@dataclass(frozen=True)
class Sample:
    """An answer as it is in its file."""

    name: str
    vendor: str
    base_url: str
    dialect: str
    status: int
    now: float
    headers: dict[str, str]
    body: bytes
    told: Told

    def read(self, vendor: Vendor | None = None) -> Told:
        """Return what is read, as of *vendor*, or of whom its host says."""
        who = vendor or vendor_of(None, self.base_url, self.dialect)
        return read(who, self.headers, status=self.status, now=self.now, body=self.body)


def samples() -> list[Sample]:
    return [_sample(path) for path in sorted(_FOLDER.glob("*.json"))]


def _sample(path: Path) -> Sample:
    kept = json.loads(path.read_text("utf-8"))
    now = kept["now"]
    return Sample(
        path.stem,
        kept["vendor"],
        kept["base_url"],
        kept["dialect"],
        kept["status"],
        datetime.fromisoformat(now).timestamp() if isinstance(now, str) else float(now),
        kept["headers"],
        json.dumps(kept["body"]).encode() if "body" in kept else b"",
        _told(kept["told"]),
    )


def _told(kept: dict[str, Any]) -> Told:
    exhausted = kept.pop("exhausted", None)
    readings = tuple(Reading(**row) for row in kept.pop("readings"))
    return Told(readings, exhausted=tuple(exhausted) if exhausted else None, **kept)
