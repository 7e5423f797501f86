"""What clients of other gateways say in the words of those, as wishes of ours."""
