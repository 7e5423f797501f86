"""Which technique and model a call gets when it leaves the choice to us (``technique: auto``)."""
