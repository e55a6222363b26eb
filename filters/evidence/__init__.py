"""What fetches prove, the same for every filter that learns: bounds that hold whenever one looks, decay, audits, expected yields."""
