"""The Krylov experiment: recorded solves of linear systems, as ``hindmost run`` does them."""
