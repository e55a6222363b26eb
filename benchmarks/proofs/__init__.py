"""Longer proofs of what must always hold: kills, politeness, rot, hostile pages and messages."""
