"""Holds calls until their account can take them, and budgets until they can be paid.

What is decided is decided in ``gateway.admission``, from values; what is shared is in
``gateway.stores``. Here it is waited for.
"""
