"""One crawl on several machines: who may request, how messages get there, and what runs where. Ray places it (ray_*.py alone import it)."""
