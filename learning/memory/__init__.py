"""Episodic memory: what happened, in which session and context, without any value in clear."""
