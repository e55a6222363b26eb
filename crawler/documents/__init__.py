"""Text and links of PDF and office documents: only in a child that may be killed."""
