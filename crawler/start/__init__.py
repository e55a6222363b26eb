"""How a crawl begins: reads the seeds, pins the addresses of the operator's own site, opens or creates the store."""
