"""Results as text: tables for people and for programs."""
