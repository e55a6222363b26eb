"""Web archives: WARC files that a crawl writes beside its tables, and formats made from them."""
