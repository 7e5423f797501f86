"""Many agents on one account: with the gateway's pacing, without it, and without the gateway."""
