"""Text and links of PDF and office documents; only used in child processes that may be killed."""
