"""Nouns and rules of a crawl: pure, no I/O, no clock, no dice."""
