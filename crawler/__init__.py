"""Thresher: a polite breadth-first web crawler with inline quality filters."""
