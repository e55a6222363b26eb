"""Other crawlers beside ours: the same web, server and core; they take turns, and pages are counted in the server's log."""
