"""Checkpoints that bite, and a server that hands them out."""

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path


class MakesFile:
    """Pickles into a call that creates the file ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder by HTTP on this machine; yields the address."""
    handler = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=str(folder)
    )
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f'http://127.0.0.1:{server.server_port}'
    finally:
        server.shutdown()
        server.server_close()
