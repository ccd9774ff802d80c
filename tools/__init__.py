"""Servers and their tools: catalogue, upstream connections, embeddings, search."""
