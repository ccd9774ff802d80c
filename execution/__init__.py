"""Runs: the one way upstream, its permission, deadline and outcome."""
