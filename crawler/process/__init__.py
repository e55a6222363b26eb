"""The processes of a crawl: starts, watches and restarts agents; how a process ends."""
