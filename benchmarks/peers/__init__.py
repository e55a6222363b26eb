"""Crawlers beside ours: one web, one server, one core, one after the other in turns, pages counted from the server's log."""
