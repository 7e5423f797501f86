"""A-75 to A-77 on disk: nothing is lost before the next is there, and nothing stays for ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.upstream.llama_cpp.kept import Degraded, Fingerprint, Record, Session, digest
from gateway.upstream.llama_cpp.shelf import Shelf

MADE = Fingerprint("/m.gguf", 7, 1, 2048, "b1")
ANN, BEN = Session("", "ann"), Session("", "ben")
NOW = 1_000_000.0


class Room:
    """A folder, and a disk that is as full as a test wants."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.left = 10**9
        self.shelf = Shelf(root, lambda _: self.left)

    def write(self, name: str, content: str = "kv", age_s: float = 0) -> Path:
        file = self.root / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
        os.utime(file, (NOW - age_s, NOW - age_s))
        return file

    def keep(self, session: Session, nonce: str = "1", *, saved_at: float = NOW) -> Record:
        name = self.shelf.name(session, nonce)
        self.write(name)
        record = Record(name, MADE, 600, 2, 0.1, saved_at)
        self.shelf.commit(session, record)
        return record

    def blobs(self) -> set[str]:
        return {path.name for path in self.root.rglob("*.bin")}

    def reason(self, session: Session) -> str:
        with pytest.raises(Degraded) as caught:
            self.shelf.record(session)
        return caught.value.reason


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def test_a_name_is_bare_and_differs_for_each_session_and_each_time(room: Room) -> None:
    sessions = [Session("a", "b"), Session("a/b", ""), Session("", "a/b"), Session("a_b", "")]
    names = {room.shelf.name(session, nonce) for session in sessions for nonce in "12"}

    assert len(names) == 8
    assert all(name.startswith("rel-") and "/" not in name for name in names)


def test_what_was_kept_is_found_again(room: Room) -> None:
    record = room.keep(ANN)

    assert room.shelf.record(ANN) == record


def test_each_tenant_has_a_folder_that_only_the_gateway_reads(room: Room) -> None:
    for tenant in ("app", "web"):
        room.keep(Session(tenant, "same"))
    folders = sorted(room.root.glob("t-*"))

    assert {folder.name for folder in folders} == {f"t-{digest(it)}" for it in ("app", "web")}
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}
    assert not list(room.root.glob("*.bin"))


def test_a_later_file_takes_the_place_of_the_earlier(room: Room) -> None:
    room.keep(ANN, "1")
    later = room.keep(ANN, "2")

    assert room.blobs() == {later.file}


def test_what_cannot_be_moved_leaves_what_was_kept_before(room: Room) -> None:
    before = room.keep(ANN)
    gone = Record("rel-gone.bin", MADE, 600, 2, 0.1, NOW)

    with pytest.raises(Degraded) as caught:
        room.shelf.commit(ANN, gone)

    assert caught.value.reason == "folder_failed"
    assert room.shelf.record(ANN) == before
    assert room.blobs() == {before.file}


def test_a_record_that_cannot_be_written_leaves_no_file(room: Room) -> None:
    room.keep(BEN)
    record = room.keep(ANN)
    note = next(n for n in room.root.glob("t-*/*.json") if str(record.file) in n.read_text())
    note.unlink()
    note.mkdir()
    room.write("rel-new.bin")

    with pytest.raises(Degraded):
        room.shelf.commit(ANN, Record("rel-new.bin", MADE, 600, 2, 0.1, NOW))

    assert "rel-new.bin" not in room.blobs()


def test_of_a_session_that_nobody_knows_there_is_no_checkpoint(room: Room) -> None:
    assert room.reason(ANN) == "no_checkpoint"


def test_a_file_that_somebody_deleted_is_missing(room: Room) -> None:
    record = room.keep(ANN)
    next(room.root.glob(f"t-*/{record.file}")).unlink()

    assert room.reason(ANN) == "kv_file_missing"


@pytest.mark.parametrize("raw", ["", "{", "[]", '{"file": "x"}'])
def test_a_record_that_cannot_be_read_is_none(room: Room, raw: str) -> None:
    room.keep(ANN)
    next(room.root.glob("t-*/*.json")).write_text(raw)

    assert room.reason(ANN) == "no_kv"


@pytest.mark.parametrize(("size", "content"), [(3, "kv"), (0, "")])
def test_a_file_that_is_not_whole_has_not_arrived(room: Room, size: int, content: str) -> None:
    room.write("rel-1.bin", content)

    with pytest.raises(Degraded) as caught:
        room.shelf.arrived("rel-1.bin", size)

    assert caught.value.reason == "folder_mismatch"


def test_a_file_is_lent_under_its_bare_name_for_as_long_as_it_is_read(room: Room) -> None:
    record = room.keep(ANN)

    with room.shelf.lent(ANN, record) as name:
        assert (room.root / name).read_text() == "kv"

    assert not (room.root / name).exists()
    assert room.shelf.record(ANN) == record


def test_a_fork_has_a_file_of_its_own(room: Room) -> None:
    room.keep(ANN)
    room.shelf.fork(ANN, BEN, "2")
    room.shelf.forget(ANN)

    assert room.reason(ANN) == "no_checkpoint"
    assert (room.shelf.record(BEN).tokens, len(room.blobs())) == (600, 1)


def test_what_is_not_kept_cannot_be_forked(room: Room) -> None:
    with pytest.raises(Degraded):
        room.shelf.fork(ANN, BEN, "1")


def test_enough_room_is_enough(room: Room) -> None:
    record = room.keep(ANN)

    room.shelf.make_room(room.left, prune=True)

    assert room.shelf.record(ANN) == record
    assert len(room.blobs()) == 1


def test_too_little_room_is_an_error_that_leaves_everything_as_it_is(room: Room) -> None:
    record = room.keep(ANN)

    with pytest.raises(Degraded) as caught:
        room.shelf.make_room(room.left + 1, prune=False)

    assert caught.value.reason == "disk_short"
    assert room.shelf.record(ANN) == record


def test_the_oldest_give_way_until_there_is_room(tmp_path: Path) -> None:
    room = Room(tmp_path)
    for session, age in ((ANN, 30), (BEN, 20), (Session("", "cid"), 10)):
        room.keep(session, saved_at=NOW - age)
    shelf = Shelf(tmp_path, lambda folder: 100 - 2 * len(list(folder.rglob("*.bin"))))

    shelf.make_room(97, prune=True)

    assert (room.reason(ANN), room.reason(BEN)) == ("no_kv", "no_kv")
    assert room.blobs() == {room.shelf.record(Session("", "cid")).file}


def test_pruning_that_frees_nothing_is_an_error_after_one_more_look(tmp_path: Path) -> None:
    looks = []

    def full(folder: Path) -> int:
        looks.append(folder)
        return 5

    Room(tmp_path).keep(ANN)
    with pytest.raises(Degraded) as caught:
        Shelf(tmp_path, full).make_room(6, prune=True)

    assert (caught.value.reason, len(looks)) == ("disk_short", 2)


def test_what_is_older_than_it_is_kept_is_swept(room: Room) -> None:
    room.keep(ANN, saved_at=NOW - 101)
    room.keep(BEN, saved_at=NOW - 99)

    assert room.shelf.sweep(NOW, 100) == 1
    assert room.reason(ANN) == "no_checkpoint"
    assert room.shelf.record(BEN).tokens == 600


@pytest.mark.parametrize(("age_s", "swept"), [(601, 1), (599, 0)])
def test_what_was_restored_is_swept_a_little_later(room: Room, age_s: float, swept: int) -> None:
    room.keep(ANN)
    room.shelf.consume(ANN, NOW - age_s)

    assert room.shelf.sweep(NOW, 86_400) == swept


@pytest.mark.parametrize(("age_s", "swept"), [(601, 2), (599, 0)])
def test_files_that_nobody_knows_are_swept_unless_they_may_be_being_written(
    room: Room, age_s: float, swept: int
) -> None:
    kept = room.keep(ANN)
    room.write("rel-lost.bin", age_s=age_s)
    room.write(f"t-{digest('')}/rel-lost-too.bin", age_s=age_s)
    room.write("another-program.bin", age_s=10**6)

    assert room.shelf.sweep(NOW, 86_400) == swept
    assert {kept.file, "another-program.bin"} <= room.blobs()
