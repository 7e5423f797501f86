from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def dice() -> np.random.Generator:
    """Return dice that fall the same in every run, whatever ran before."""
    return np.random.default_rng(11)
