"""Canaries: find out whether a host still answers with its own pages, or a wall answers for it."""
