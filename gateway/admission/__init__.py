"""Whether a call may start, and when: arithmetic over limits and needs. No I/O, no clock."""
