"""Grid invoices computed anew: what they charge against their parts, the price lists and what the store knows."""
