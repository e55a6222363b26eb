"""A simulator of deferral: what a crawl finds, and in which order, if the opinions of filters only hold URLs."""
