"""Values and rules of a crawl. Pure: no I/O, no clock, no randomness."""
