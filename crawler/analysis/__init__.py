"""Analyses of a finished or running crawl, or of logs, for the commands."""
