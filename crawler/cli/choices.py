"""The words that some options accept, apart from the code that acts on them, so that a command's --help imports none of it.

tests/cli/test_cli_start.py compares them with that code, and says which module a --help imports in vain.
"""

from __future__ import annotations

EXPORT_KINDS = (
    *("pages", "urls", "skipped", "redirects", "links", "outlinks", "hostgraph", "sitegraph", "sitemaps", "announced", "orphans"),
    *("unannounced", "versions", "texts", "forgotten", "browser", "requisites"),
)
SEED_OUTCOMES = ("fetched", "dropped", "needs_browser", "redirected", "failed", "refused", "waiting", "held", "alias", "unknown")

JUMP = 1 / 7  # of `thresher rank`: probability of a jump to any page

# of `thresher replicas`, each one's default first
NEIGHBOURS = ("equal", "all")
COUNTINGS = ("log_l2", "raw", "log")
CANDIDATES = ("bands", "grid")
