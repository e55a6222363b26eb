"""Longer proofs and measurements, each with a command of its own."""
