"""Tells other systems and people what happened: signed requests and mail, retried for a day."""
