"""One crawl on several machines: which may request, how messages arrive, and what runs where. Only ray_*.py import Ray, which starts the
processes.
"""
