"""How a crawl begins: seeds are read, addresses of one's own site pinned, the store opened or created."""
