"""SGE B2B: the SOAP requests that a supplier sends to Enedis, and what Enedis answers."""
