"""Predict the next calls of a session, with their arguments, from what came before."""
