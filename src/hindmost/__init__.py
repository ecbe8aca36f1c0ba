"""hindmost: where parallel iterations lose time, on every rank and in every iteration."""
