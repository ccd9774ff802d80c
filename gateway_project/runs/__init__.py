"""Requests for runs, from clients and people, and answers about them."""
