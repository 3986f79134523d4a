"""A customer's data: found, handed over in one file, erased wherever the store keeps them."""
