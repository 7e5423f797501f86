from __future__ import annotations

from router_service.times import none_to_come
from tests.router_service.store.scene import observation


def test_what_is_yet_to_come_counts_as_of_now_and_all_else_as_it_is() -> None:
    rows = [observation("then", at=5.0), observation("now", at=9.0), observation("late", at=9e9)]

    assert [row.at for row in none_to_come(rows, 9.0)] == [5.0, 9.0, 9.0]
    assert none_to_come(rows, 9.0)[:2] == rows[:2]
