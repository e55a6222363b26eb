"""Snapshots of a crawl: taken while it runs, incremental, to a folder or any target of fsspec; a crawl is restored from one (taking.py)."""
