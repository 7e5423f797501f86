"""What agents take of tools and of people, counted on the ledger of windows."""
