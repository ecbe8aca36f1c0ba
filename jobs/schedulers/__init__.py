"""Schedulers: who queues the scripts of a study."""
