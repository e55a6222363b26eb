"""Living sites: software that Debian packages, served on loopback and crawled with filters and without."""
