"""Measurements of speed: CPU seconds, memory, pages a second."""
