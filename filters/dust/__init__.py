"""DUST, different URLs with similar text: rules learned from a site's list of URLs that rewrite aliases to one canonical URL [BKS07]."""
