"""Soft errors: answers that hide an error, recognised by the redirect log [LEE09], by a probe [BBKT04] and by how pages look."""
