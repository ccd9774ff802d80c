"""The runs that a process holds: created or claimed, renewed, journalled, released."""
