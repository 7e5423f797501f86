"""A shelf without a database."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.stores.database.engine import DatabaseLost
from gateway.stores.responses.records import Response, ResponseName
from gateway.stores.responses.shelf import Shelf, TooBig
from gateway.stores.responses.table import ResponseTable, Row
from tests.gateway.stores.responses.scene import AT, OPEN, row


class Shelved(Shelf):
    """Keeps responses in a dict; *lost* is what each operation fails with."""

    def __init__(self) -> None:
        self.kept: dict[ResponseName, Response] = {}
        self.touched: list[ResponseName] = []
        self.lost: Exception | None = None
        super().__init__(_Table(self), OPEN, lambda: AT)

    async def put(self, response: Response, most: int) -> None:
        self._must_be_there()
        if len(OPEN.closed(response)) > most:
            raise TooBig("too many bytes")
        self.kept[response.name] = response

    async def find(self, name: ResponseName) -> Response | None:
        self._must_be_there()
        return self.kept.get(name)

    async def chain(self, name: ResponseName, most: int) -> Sequence[Response]:
        self._must_be_there()
        found: list[Response] = []
        one = self.kept.get(name)
        while one is not None and len(found) * 100 <= most:
            found.insert(0, one)
            one = self.kept.get(ResponseName(name.owner, one.parent or ""))
        return found

    def _must_be_there(self) -> None:
        if self.lost is not None:
            raise self.lost


class _Table(ResponseTable):
    def __init__(self, shelf: Shelved) -> None:
        self.shelf = shelf

    async def find(self, name: ResponseName) -> Row | None:
        there = self.shelf.kept.get(name)
        return None if there is None else row(0)

    async def touch(self, names: Sequence[ResponseName], at_ms: int) -> None:
        if at_ms < AT:
            raise DatabaseLost
        self.shelf.touched += names

    async def holders(self, owner: str, items: Sequence[str]) -> dict[str, str]:
        self.shelf._must_be_there()
        return {
            str(item["id"]): one.name.id
            for one in self.shelf.kept.values()
            for item in one.output
            if one.name.owner == owner and item["id"] in items
        }
