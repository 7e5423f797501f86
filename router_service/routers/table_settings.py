"""The rows that ``acm_table`` decides by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from pydantic import Field, TypeAdapter, model_validator

from router_service.arms import Arm
from router_service.contract import Features
from router_service.groundwork.section import Section
from techniques.core.json import Json
from techniques.parts.category import CategoryName
from techniques.parts.tables import Table

PILOT: Final = "acm"
"""The technique that finds out how hard a question is, and goes on by a table."""
_TABLE: Final[TypeAdapter[Table]] = TypeAdapter(Table)


class When(Section):
    """Which requests a row is for: those for which all holds that is said."""

    category: CategoryName | None = None
    has_tools: bool | None = None
    lang: str | None = None
    tokens_below: int | None = Field(None, ge=1)

    def holds(self, features: Features) -> bool:
        """Tell whether it does for a request with *features*."""
        return (
            self.category in {None, features.category}
            and self.has_tools in {None, features.tools}
            and self.lang in {None, features.language}
            and (self.tokens_below is None or features.tokens < self.tokens_below)
        )


class TableRow(Section):
    """What is done for some requests, of some difficulties.

    ``model`` is one of the configured channels: it answers in place of the one that was asked for.
    """

    name: str = Field(min_length=1, max_length=64)
    technique: str = Field(min_length=1, max_length=64)
    difficulty_range: tuple[float, float] = (0.0, 1.0)
    model: str | None = None
    params: Mapping[str, Json] = {}
    when: When = When()

    @property
    def arm(self) -> str:
        """The arm that it stands for; its ``params`` come beside it."""
        technique = "none" if self.technique == "baseline" else self.technique
        return Arm(technique, channel=self.model or Arm().channel).name


class AcmTableSettings(Section):
    """Rows, in order: the first ``when`` that holds for a request decides.

    Rows one after the other with the same ``when`` are one table, by difficulty from 0 to 1.
    Where it has one row, that is done; else ``acm`` finds out first how hard the question is.
    """

    rows: tuple[TableRow, ...] = ()

    @model_validator(mode="after")
    def _leaves_no_gaps(self) -> AcmTableSettings:
        for table in self.tables():
            _TABLE.validate_python([plain(row) for row in table])
        return self

    def tables(self) -> Iterator[Sequence[TableRow]]:
        """Yield the rows that belong together."""
        return (list(rows) for _, rows in groupby(self.rows, key=lambda row: row.when))

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that it may choose: they must be on offer, or it cannot."""
        each = [table[0].arm if len(table) == 1 else PILOT for table in self.tables()]
        return tuple(dict.fromkeys(each or [PILOT]))


def plain(row: TableRow) -> dict[str, Json]:
    """Return *row* as ``acm`` takes it."""
    return row.model_dump(mode="json", exclude={"when"}, exclude_none=True)
