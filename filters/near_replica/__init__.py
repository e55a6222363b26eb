"""Near-replicas: pages of almost the same text whose neighbourhoods agree too [DDGMP03]."""
