"""What a sub-call will use: bounds that hold for 98 of 100 calls, learned from earlier ones."""
