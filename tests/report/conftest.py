"""Gives every test of this folder the fixtures of hostile_store.py."""

from hostile_store import hostile, hostile_page

__all__ = ["hostile", "hostile_page"]
