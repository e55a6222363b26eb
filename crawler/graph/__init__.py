"""The link graph and its ranks: numpy only, and no I/O except in reading.py."""
