"""IDA* on a graphics card: the same tables and counts, for one hard board or millions of easy ones.

A wing: nothing else needs it. Read `search` first, then `launches`, then `device_search`. docs/design/cuda.md says what
was measured.
"""
