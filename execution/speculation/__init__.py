"""Act before being asked: predicted calls, what they are worth, and what became of them."""
