"""Output for people: the progress of a crawl, crawled text without control characters, how to install an extra."""
