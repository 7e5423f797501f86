"""Who calls, what they may, and what they wish for: all pure, all before anything is planned."""
