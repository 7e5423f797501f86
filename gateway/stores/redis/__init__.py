"""The ledger that replicas share, in Redis or Valkey: one server or a cluster."""

from gateway.stores.redis.store import RedisLedger, RedisSettings, redis_ledger

__all__ = ["RedisLedger", "RedisSettings", "redis_ledger"]
