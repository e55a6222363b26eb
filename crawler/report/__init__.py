"""A crawl as one self-contained HTML page."""
