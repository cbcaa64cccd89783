"""Transports move bytes and read the clock; they know no protocol."""
