"""What must last: keys, teams, budgets, and the ledger. SQLite in a file, or PostgreSQL."""
