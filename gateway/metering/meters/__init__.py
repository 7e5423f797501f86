"""What reads facts: one meter a file. A meter is called with each fact and must be quick."""
