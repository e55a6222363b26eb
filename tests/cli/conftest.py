"""Gives every test of this folder the fixtures of command.py."""

from command import crawl, thresher

__all__ = ["crawl", "thresher"]
