"""How deep a site deserves to be crawled: models of surfers, their fits, and a cutoff by site that follows a crawl's evidence [BC04]."""
