"""One agent: the loop that takes URLs from the frontier, visits them and settles them, wired up from its parts."""
