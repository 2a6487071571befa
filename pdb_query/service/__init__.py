"""The tables over HTTP, and a page: `create_app` makes the app, `serve` runs it. Needs the extra `serve`."""

from pdb_query.service.app import create_app
from pdb_query.service.server import serve
from pdb_query.service.service import Service
from pdb_query.service.settings import ServiceSettings
from pdb_query.service.solving import Answer, Progress, Solving

__all__ = ["Answer", "Progress", "Service", "ServiceSettings", "Solving", "create_app", "serve"]
