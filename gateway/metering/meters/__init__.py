"""What reads facts: one meter a file. A meter is called with facts in order, and must be quick."""
