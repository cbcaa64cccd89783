"""Clients: who calls. The raw client is the instrument; libraries under test stand beside it."""
