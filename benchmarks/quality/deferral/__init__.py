"""A simulator of deferral: what a crawl finds in which order if filters' opinions only hold URLs."""
