"""The free memory of a graphics card, asked of NVIDIA's management library where there is one."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Final

_LIBRARY: Final = "libnvidia-ml.so.1"


class CardFailed(Exception):
    """The card's memory cannot be told; the message says why."""


class _Memory(ctypes.Structure):
    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


def free_bytes(card: int, library: str = _LIBRARY) -> int:
    """Return the free bytes of the *card*, counted from 0.

    Raises:
        CardFailed: There is no such library or card, or it does not say.
    """
    try:
        nvml = ctypes.CDLL(library)
        calls = nvml.nvmlInit_v2, nvml.nvmlDeviceGetHandleByIndex_v2, nvml.nvmlDeviceGetMemoryInfo
    except (OSError, AttributeError) as error:
        raise CardFailed(f"{library} cannot be used: {error}") from error
    start, find, ask = calls
    device, memory = ctypes.c_void_p(), _Memory()
    steps = (
        ("start", partial(start)),
        ("find the card", partial(find, ctypes.c_uint(card), ctypes.byref(device))),
        ("tell its memory", partial(ask, device, ctypes.byref(memory))),
    )
    for what, step in steps:
        if code := step():
            raise CardFailed(f"{library} does not {what}: error {code}")
    return int(memory.free)
