"""Relations between tools, and what follows from them."""
