"""agentpause's estimates and decisions, number for number: for those who come from there."""
