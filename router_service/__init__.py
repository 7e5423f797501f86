"""Which technique and model a call gets when it leaves the choice to us (``technique: auto``).

Products of matrices keep to one core, unless the environment says otherwise. They are short, and
on more cores they wait for each other: with both cores of a machine busy a decision among 20,000
rows took 16 ms so, and 0.5 ms on one. numpy reads this when it is loaded, once.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251 - it is told, and not read
