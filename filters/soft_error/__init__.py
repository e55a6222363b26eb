"""Soft errors: answers that hide an error, told from the redirect log [LEE09], from a probe [BBKT04] and from what pages look like."""
