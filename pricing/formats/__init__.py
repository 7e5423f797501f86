"""Price lists of other makers, turned into rows of ours. Pure: from parsed JSON to records."""
