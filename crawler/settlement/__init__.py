"""What becomes of a visit: one commit of the page, its links, its redirects, its effects and its messages."""
