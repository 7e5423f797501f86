"""The program that makes the demonstration's traffic, as a module."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

from tests.deploy.files import ROOT

PROGRAM = ROOT / "deploy/load/traffic.py"


@cache
def traffic() -> ModuleType:
    """Return the module."""
    made = importlib.util.spec_from_file_location("lockgate_demo_traffic", PROGRAM)
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    sys.modules[made.name] = module  # dataclasses look there
    made.loader.exec_module(module)
    return module
