"""The parts that every HTML page is made of: one file, offline, no request to anywhere."""
