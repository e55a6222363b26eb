"""What a person is shown: the progress of a crawl, crawled text made printable, what an extra needs."""
