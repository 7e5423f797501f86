from __future__ import annotations

from gateway.responses.recent import Recent
from techniques.core.json import JsonObject


def item(name: str, size: int = 10) -> JsonObject:
    return {"id": name, "type": "message", "text": "x" * size}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_item_is_known_to_its_key_for_a_while() -> None:
    clock = Clock()
    recent = Recent(keep_s=10, clock=clock)
    recent.note("k1", [item("a"), {"type": "message"}])
    clock.now = 10

    assert recent.find("k1", ["a", "b"]) == {"a": item("a")}
    assert recent.find("k2", ["a"]) == {}
    clock.now = 10.1
    assert recent.find("k1", ["a"]) == {}


def test_no_more_are_remembered_than_there_is_room_for() -> None:
    recent = Recent(most=1000, clock=Clock())
    for number in range(20):
        recent.note("k1", [item(f"i{number}", 160)])
    recent.note("k1", [item("i19", 160)])  # the same again takes no more

    known = recent.find("k1", [f"i{number}" for number in range(20)])
    assert list(known) == ["i15", "i16", "i17", "i18", "i19"]
    recent.note("k1", [item("large", 2000)])
    assert recent.find("k1", ["large", "i19"]) == {}


def test_what_is_of_a_key_is_forgotten() -> None:
    recent = Recent(clock=Clock())
    recent.note("k1", [item("a")])
    recent.note("k2", [item("a")])
    recent.forget("k1")
    assert recent.find("k1", ["a"]) == {}
    assert recent.find("k2", ["a"]) == {"a": item("a")}
