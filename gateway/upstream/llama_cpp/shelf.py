"""The folder of a server's slots on disk: files of contents, and a record beside each.

The server writes only into the one folder that it was started with, and takes bare names. What it
has written is moved into a folder of its tenant, and lent back by a second name to be read. Every
method blocks for as long as the disk does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gateway.upstream.llama_cpp.kept import Degraded, Record, Session, digest, unpacked

_BLOBS: Final = "rel-*.bin"
_YOUNG_S: Final = 600.0
"""A file without a record is left alone for so long: it may be just being written."""


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


@dataclass(frozen=True, slots=True)
class Shelf:
    """The folder *root*, and how many bytes are *free* where it lies."""

    root: Path
    free: Callable[[Path], int] = _free

    def name(self, session: Session, nonce: str) -> str:
        """Return the bare name of a file for contents of *session*, new for each *nonce*."""
        return f"rel-{digest(*session, nonce)}.bin"

    def record(self, session: Session) -> Record:
        """Return what is kept of *session*.

        Raises:
            Degraded: Nothing was ever kept, or not any more, or its file is gone.
        """
        try:
            record = unpacked(self._note(session).read_bytes())
        except OSError as error:
            raise Degraded("no_checkpoint") from error
        if record is None or record.file is None:
            raise Degraded("no_kv")
        if not (self._tenant(session) / record.file).is_file():
            raise Degraded("kv_file_missing")
        return record

    def arrived(self, name: str, size: int) -> int:
        """Return how large the file is that the server says it has written; it said *size*.

        Raises:
            Degraded: It is not here, or not whole: the server writes elsewhere.
        """
        try:
            found = (self.root / name).stat().st_size
        except OSError as error:
            raise Degraded("folder_mismatch", f"{name} is not in {self.root}") from error
        if not found or (size and found != size):
            raise Degraded("folder_mismatch", f"{name} has {found} bytes, not {size}")
        return found

    def commit(self, session: Session, record: Record) -> None:
        """Keep the file that *record* names; only then is what was kept before deleted.

        Raises:
            Degraded: It could not be moved or written down; what was kept before still is.
        """
        assert record.file is not None
        folder, note = self._tenant(session), self._note(session)
        before = _read(note)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            (self.root / record.file).rename(folder / record.file)
            _write(note, record.packed())
        except OSError as error:
            _remove(folder / record.file)
            raise Degraded("folder_failed", str(error)) from error
        if before is not None and before.file not in {None, record.file}:
            _remove(folder / str(before.file))

    @contextmanager
    def lent(self, session: Session, record: Record) -> Iterator[str]:
        """Give the server, for as long as it reads, the file of *record* under a bare name.

        Raises:
            Degraded: The file system does not do that.
        """
        assert record.file is not None
        lent = self.root / record.file
        try:
            lent.unlink(missing_ok=True)
            lent.hardlink_to(self._tenant(session) / record.file)
        except OSError as error:
            raise Degraded("folder_failed", str(error)) from error
        try:
            yield record.file
        finally:
            _remove(lent)

    def consume(self, session: Session, now: float) -> None:
        """Note that what is kept of *session* was restored at *now*."""
        record = _read(self._note(session))
        if record is not None:
            with suppress(OSError):
                _write(self._note(session), replace(record, consumed_at=now).packed())

    def forget(self, session: Session) -> None:
        """Delete what is kept of *session*."""
        record = _read(self._note(session))
        _remove(self._note(session))
        if record is not None and record.file is not None:
            _remove(self._tenant(session) / record.file)

    def fork(self, parent: Session, child: Session, nonce: str) -> Record:
        """Keep for *child* a file of its own with what is kept of *parent*.

        Raises:
            Degraded: Nothing is kept of *parent*, or it could not be copied.
        """
        record = self.record(parent)
        name = self.name(child, nonce)
        try:
            shutil.copyfile(self._tenant(parent) / str(record.file), self.root / name)
        except OSError as error:
            _remove(self.root / name)
            raise Degraded("folder_failed", str(error)) from error
        copied = replace(record, file=name, consumed_at=None)
        self.commit(child, copied)
        return copied

    def discard(self, name: str) -> None:
        """Delete a file that was not kept."""
        _remove(self.root / name)

    def make_room(self, wanted: int, *, prune: bool) -> None:
        """See that *wanted* bytes are free; with *prune* the oldest files give way.

        Raises:
            Degraded: There are too few; asked once more after pruning.
        """
        try:
            lacking = wanted - self.free(self.root)
            if lacking > 0 and prune:
                self._prune(lacking)
                lacking = wanted - self.free(self.root)
        except OSError as error:
            raise Degraded("folder_failed", str(error)) from error
        if lacking > 0:
            raise Degraded("disk_short", f"{lacking} bytes too few in {self.root}")

    def sweep(self, now: float, keep_s: float) -> int:
        """Delete what is older than *keep_s*, what was restored before, and what nobody knows.

        Returns how many files of contents went. A file restored within the last ten minutes stays.
        """
        gone, known = 0, set()
        for note, record in self._records():
            old = now - record.saved_at > keep_s
            used = record.consumed_at is not None and now - record.consumed_at > _YOUNG_S
            if record.file is not None and (old or used):
                gone += _remove(note.parent / record.file)
                if not old:
                    _write(note, replace(record, file=None).packed())
            elif record.file is not None:
                known.add(note.parent / record.file)
            if old:
                _remove(note)
        for blob in [*self.root.glob(_BLOBS), *self.root.glob(f"t-*/{_BLOBS}")]:
            if blob not in known and now - _modified(blob, now) > _YOUNG_S:
                gone += _remove(blob)
        return gone

    def _prune(self, lacking: int) -> None:
        rows = [row for row in self._records() if row[1].file is not None]
        for note, record in sorted(rows, key=lambda row: row[1].saved_at):
            if lacking <= 0:
                return
            _write(note, replace(record, file=None).packed())
            _remove(note.parent / str(record.file))
            lacking -= record.size

    def _records(self) -> Iterator[tuple[Path, Record]]:
        for note in sorted(self.root.glob("t-*/*.json")):
            if (record := _read(note)) is not None:
                yield note, record

    def _tenant(self, session: Session) -> Path:
        return self.root / f"t-{digest(session.tenant)}"

    def _note(self, session: Session) -> Path:
        return self._tenant(session) / f"{digest(*session)}.json"


def _read(note: Path) -> Record | None:
    try:
        return unpacked(note.read_bytes())
    except OSError:
        return None


def _write(note: Path, raw: bytes) -> None:
    """Write *note* whole or not at all, and on the disk before this returns."""
    new = note.with_suffix(".new")
    with new.open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    new.replace(note)


def _modified(path: Path, now: float) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return now


def _remove(path: Path) -> bool:
    """Delete the file at *path*; tell whether there was one."""
    try:
        path.unlink()
    except OSError:
        return False
    return True
