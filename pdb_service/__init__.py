"""The HTTP service over databases, its page, and `Client`.

Import from the modules: `pdb_service.app.create_app` makes the ASGI app, `pdb_service.server.serve` runs it,
`pdb_service.client.Client` queries it. The first two need the extra `serve`.
"""
