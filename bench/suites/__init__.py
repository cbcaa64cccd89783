"""Suites that come with the project, as TOML files."""
