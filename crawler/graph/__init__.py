"""The link graph and its ranks: numpy alone, no I/O but for reading.py."""
