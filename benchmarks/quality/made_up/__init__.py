"""Made-up kinds of sites, each with planted documents, that no filter was tuned to."""
