"""A workflow suggested for an intent, with its evidence."""
