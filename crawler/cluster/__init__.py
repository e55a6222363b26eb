"""Several agents of one crawl: their messages, their shards, who owns what, and when all is done."""
