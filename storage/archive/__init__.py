"""Web archives: WARC files that a crawl writes beside its tables, and what is made of them."""
