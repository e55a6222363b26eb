"""Pattern yield: which patterns of a site's URLs give nothing new, learned while crawling."""
