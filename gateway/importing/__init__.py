"""Configurations of other gateways, translated once into one of ours."""
