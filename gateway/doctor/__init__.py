"""``lockgate doctor``: what is wrong with a gateway or what it stands on, why, what mends it."""
