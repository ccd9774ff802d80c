VERSION = "0.1.0"
"""Version of Foregate; pyproject.toml has it too."""
