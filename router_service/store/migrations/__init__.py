"""The steps by which a database comes to its present shape; each is applied once, in order."""
