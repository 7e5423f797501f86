"""The algorithms under the techniques' names. A module of ``catalog`` sets one up, no more."""
