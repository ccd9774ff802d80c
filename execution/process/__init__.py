"""The runs that a process holds: taken, renewed, watched, given back."""
