"""Learns the priors of ranking and binding on public sets."""
