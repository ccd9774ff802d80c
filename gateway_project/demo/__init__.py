"""The demonstration and the servers it runs on."""
