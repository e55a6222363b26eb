"""`python -m crawler.cli`, the same as `thresher`."""

from crawler.cli import guarded

guarded()
