"""The next iterations of a running loop: how long they take, and whether time is left for them."""
