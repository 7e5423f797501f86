"""What replicas share: the ledger of windows and money, and the database."""
