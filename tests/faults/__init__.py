"""Programs that break things on purpose and count what comes of it; tests run them."""
