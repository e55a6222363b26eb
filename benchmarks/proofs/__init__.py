"""Longer proofs of what must always hold: after kills, damage, hostile pages and hostile messages; and politeness."""
