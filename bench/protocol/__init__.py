"""The protocol without input or output: bytes to events, intentions to bytes.

Nothing here opens anything, reads a clock or knows a thread; a test holds it.
"""
