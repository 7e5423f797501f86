"""Where runs are kept: one interface, in memory, in Redis, and in the database."""
