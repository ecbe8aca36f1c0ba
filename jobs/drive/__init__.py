"""The driver: runs one after another inside an allocation."""
