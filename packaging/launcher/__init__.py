"""Foregate, a self-hosted MCP gateway; `foregate --help` says what it can do."""
