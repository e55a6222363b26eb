"""Redundant patterns: which shapes of a site's URLs yield nothing new, learned while crawling."""
