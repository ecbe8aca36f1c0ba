"""A study: what is to be run, on which machine, as a file that a person writes."""
