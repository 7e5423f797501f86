"""What the gateway and the router's own process both stand on: databases, and strict reading."""
