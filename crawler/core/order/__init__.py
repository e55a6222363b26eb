"""The orders of a crawl: which URL of a host goes next, and which of the hosts that are ready. One small file each."""
