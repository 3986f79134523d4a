"""What leaves the store for Parquet files and comes back: settled measures, and the bytes of envelopes."""
