"""Predictions of whole workflows: followed in memory, recorded and resolved in the background."""
