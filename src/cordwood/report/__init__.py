"""Results shown: pictures of what the ledgers hold. Reads and draws, and fits nothing."""
