"""The plan of a study: runs in their order, packed into allocations."""
