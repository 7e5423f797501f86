"""Runs one Python program behind walls. A script of its own, which ``process`` starts.

It reads the program from its input and its settings, as JSON, from its only argument. Behind walls
the program has a file system of its own, with the interpreter and the system's libraries to read
and one directory to write to; no network; no sight of other processes, none of which can outlive
it; and none of root's rights. All of that is the kernel's doing, asked for through namespaces.

Source: the manual pages namespaces(7), user_namespaces(7) and mount_setattr(2); Linux 5.14.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

STOPPED: Final = 124
"""Exit status: the program used up its time."""
NOT_RUN: Final = 125
"""Exit status: the program was not run, since its walls could not be put up."""

HOME: Final = Path("/tmp")
"""Where the program may write, if it has a file system of its own."""

_NEWUSER: Final = 0x10000000
_NEW_ALL_ELSE: Final = 0x00020000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000
"""Namespaces of mounts, host name, System V IPC, processes and network."""
_NOSUID_NODEV, _BIND, _ALL_BELOW, _PRIVATE = 0x2 | 0x4, 0x1000, 0x4000, 0x40000
_SYS_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_READ_ONLY: Final = 0x1  # as mount_setattr has it; nosuid and nodev are as above
_DIES_WITH_PARENT, _NO_NEW_PRIVILEGES = 1, 38
_UNUSED_IDS: Final = range(1_879_048_192, 2_147_483_647)
"""User ids that no system gives to anyone. Source: systemd, UIDS-GIDS."""

_DEVICES: Final = tuple(map(Path, ("/dev/null", "/dev/zero", "/dev/urandom")))
_SHORTCUTS: Final = tuple(map(Path, ("/bin", "/lib", "/lib32", "/lib64")))
_SPARE_PROCESSES: Final = 2  # those of this script


def main() -> NoReturn:
    """Run the program and leave with 0 if it did so, 1 if not, or one of the two above."""
    settings = json.loads(sys.argv[1])
    program = sys.stdin.buffer.read()
    os.nice(10)
    os._exit(_honest(lambda: _behind_walls(settings, program)))


def _honest(step: Callable[[], int]) -> int:
    try:
        return step()
    except OSError as error:
        sys.stderr.write(f"The program was not run: {error}.\n")
        sys.stderr.flush()
        return NOT_RUN


def _behind_walls(settings: dict[str, Any], program: bytes) -> int:
    """Leave the host's namespaces; who is not root must be root of a new one of users for that."""
    if not settings["walls"]:
        _limit(settings["limits"], count=False)
        return _run(settings, program, Path.cwd())
    user, group = os.geteuid(), os.getegid()
    if user != 0:
        _call("unshare", _NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _call("unshare", _NEW_ALL_ELSE)
    status = _child(lambda: _inside(settings, program))
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1


def _inside(settings: dict[str, Any], program: bytes) -> int:
    """Be the first process of the new namespaces: when it ends, all others in them are killed."""
    _call("prctl", _DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    root = Path(settings["root"])
    _furnish(root, settings["visible"], settings["limits"]["disk"])
    os.chroot(root)
    os.chdir(HOME)
    if os.geteuid() == 0:
        _become_nobody()
        _call("prctl", _DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0)  # which that undid
    _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _limit(settings["limits"], count=True)
    return _run(settings, program, HOME)


def _furnish(root: Path, visible: Sequence[str], disk: int) -> None:
    """Build at *root* what the program will see: *visible* and *disk* bytes to write to."""
    home = _within(root, HOME)
    _mount("none", Path("/"), _ALL_BELOW | _PRIVATE)
    _mount("tmpfs", root, _NOSUID_NODEV, "mode=755,size=1m")
    home.mkdir()
    _mount("tmpfs", home, _NOSUID_NODEV, f"mode=1777,size={disk},nr_inodes=4096")
    for path in map(Path, visible):
        _mount(str(path), _place(root, path), _BIND | _ALL_BELOW)
    for path in filter(Path.is_symlink, _SHORTCUTS):
        _within(root, path).symlink_to(path.readlink())
    devices = [(path, _place(root, path)) for path in _DEVICES]
    _set_attributes(root, _AT_RECURSIVE, _NOSUID_NODEV | _READ_ONLY, 0)
    _set_attributes(home, 0, 0, _READ_ONLY)
    for path, place in devices:
        _mount(str(path), place, _BIND)


def _place(root: Path, path: Path) -> Path:
    """Make in *root* a place where what the host has at *path* can be mounted."""
    place = _within(root, path)
    (place if path.is_dir() else place.parent).mkdir(parents=True, exist_ok=True)
    place.touch()
    return place


def _within(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _become_nobody() -> None:
    """Take an id that nobody has: nothing is its own, and only its own processes count."""
    nobody = _UNUSED_IDS[int.from_bytes(os.urandom(8)) % len(_UNUSED_IDS)]
    os.setgroups([])
    os.setresgid(nobody, nobody, nobody)
    os.setresuid(nobody, nobody, nobody)


def _limit(limits: dict[str, Any], *, count: bool) -> None:
    """Limit this process and its children. Shared libraries get as much address space again.

    Processes are counted by their user, so only where it has no others.
    """
    import resource  # is not everywhere that this module is read

    wanted = {
        resource.RLIMIT_CPU: math.ceil(limits["seconds"]),
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits["disk"],
        resource.RLIMIT_NOFILE: limits["files"],
        resource.RLIMIT_DATA: limits["memory"],
        resource.RLIMIT_AS: 2 * limits["memory"],
    }
    if count:
        wanted[resource.RLIMIT_NPROC] = limits["processes"] + _SPARE_PROCESSES
    for what, most in wanted.items():
        hard = most + (what == resource.RLIMIT_CPU)  # a signal that tells why comes before the end
        try:
            resource.setrlimit(what, (most, hard))
        except ValueError as error:
            raise OSError(f"a limit cannot be set: {error}") from error


def _run(settings: dict[str, Any], program: bytes, home: Path) -> int:
    """Run *program*; return 0 if it ended well, ``STOPPED``, or 1 whatever else became of it."""
    python = settings["python"]
    if not os.access(python, os.X_OK):
        raise OSError(f"there is no {python}")
    path = home / "program.py"
    path.write_bytes(program)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(STOPPED))
    signal.setitimer(signal.ITIMER_REAL, settings["limits"]["seconds"])
    status = _child(lambda: _become(python, path))
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return STOPPED
    return 0 if status == 0 else 1


def _become(python: str, path: Path) -> NoReturn:
    """Become the program. Numeric libraries reserve memory for every thread: one must do."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    environment = {
        "HOME": str(path.parent),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    os.execve(python, [python, "-I", "-B", str(path)], environment)


def _child(step: Callable[[], int]) -> int:
    """Run *step* in a child; return its wait status."""
    pid = os.fork()
    if pid == 0:
        os._exit(_honest(step))
    while True:
        ended, status = os.wait()
        if ended == pid:
            return status


def _mount(source: str, target: Path, flags: int, options: str = "") -> None:
    kind = source.encode() if source == "tmpfs" else None
    _call("mount", source.encode(), bytes(target), kind, ctypes.c_ulong(flags), options.encode())


def _set_attributes(target: Path, scope: int, put_on: int, taken_off: int) -> None:
    attributes = (ctypes.c_uint64 * 4)(put_on, taken_off, 0, 0)
    number, folder, size = map(
        ctypes.c_long, (_SYS_MOUNT_SETATTR, _AT_FDCWD, ctypes.sizeof(attributes))
    )
    _call("syscall", number, folder, bytes(target), ctypes.c_long(scope), attributes, size)


def _call(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


if __name__ == "__main__":
    main()
