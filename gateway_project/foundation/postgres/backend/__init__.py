"""Django's PostgreSQL backend, with the embedded database running on demand."""
