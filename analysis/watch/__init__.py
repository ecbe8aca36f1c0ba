"""A run watched while it goes on: in the terminal, or in a browser."""
