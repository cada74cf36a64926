"""The page and its files, as they lie in the package."""

import hashlib
from pathlib import Path

from starlette.requests import Request

from elmokit.serve.answer import Answer
from elmokit.serve.problems import status_problem

FOLDER = Path(__file__).parent / "page"
FRONT = "index.html"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/vnd.microsoft.icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
# Nothing but files of this server, no script or style inside of the page, no frame around it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_file(request: Request, name: str) -> Answer:
    """Answer with a file of the page; 304 where the browser has it already."""
    path = FOLDER / name
    # Only plain names lead to files: a listing knows no way out of the folder.
    if name not in {file.name for file in FOLDER.iterdir()} or path.suffix not in TYPES:
        raise status_problem(404)
    content = path.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**HEADERS, "ETag": tag}
    known = request.headers.get("if-none-match", "")
    if tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return Answer([b""], status=304, media_type=TYPES[path.suffix], headers=headers)
    return Answer([content], media_type=TYPES[path.suffix], headers=headers)
