"""Decks by name, and decks of the user's in files."""
