"""What a router is asked, and what becomes of its choice."""
