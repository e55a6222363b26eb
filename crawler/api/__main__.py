"""`python -m thresher`: the command line."""

from thresher.crawler.cli import guarded

guarded()
