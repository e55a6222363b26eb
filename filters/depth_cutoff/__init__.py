"""How deep a site is worth crawling: models of surfers, fits to visitors' sessions, and cutoffs by what was fetched [BC04]."""
