"""What relations add to the tools a search found: what they need, what goes with them."""
