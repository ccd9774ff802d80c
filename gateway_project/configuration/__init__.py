"""Configuration as one document: read, compared with what is stored, and written."""
