"""What a run of many steps will use, cost and wait for, before it is begun."""
