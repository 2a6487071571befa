"""The HTTP service over databases, its page, and its client.

Import from the modules: `pdb_service.app.App` is the ASGI app and `pdb_service.server.serve` runs it; both
need the extra `serve`. `pdb_service.client.Client` sends requests to a service; it needs the extra `client`.
"""
