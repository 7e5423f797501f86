"""The ledger in one process: for one replica, and in the place of a store that is lost."""

from gateway.stores.memory.store import MemoryLedger

__all__ = ["MemoryLedger"]
