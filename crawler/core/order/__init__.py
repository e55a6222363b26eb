"""The orders of a crawl: which URL of a host is requested next, and which of the ready hosts goes first. One small file each."""
