"""The processes of a crawl: agents started, watched and restarted; how each ends."""
