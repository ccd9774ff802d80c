"""Learns the prior of ranking on public sets."""
