"""Heads that are unusual or wrong, around a body that is right."""

import json

from integration.serve_load.cases.case import CLOSED, MARKER, Case, get, post, raw

M = MARKER
# Who is still sending when the connection closes may not see the answer.
LARGE = (431, CLOSED)
BODY = json.dumps({"input": f"{M} sat"}).encode()
LATIN = MARKER.encode()

CONTENT_TYPES: dict[str, tuple[bytes | None, int]] = {
    "none": (None, 415),
    "an empty one": (b"", 415),
    "plain text": (b"text/plain", 415),
    "text of JSON": (b"text/json", 415),
    "a form": (b"application/x-www-form-urlencoded", 415),
    "parts of a form": (b"multipart/form-data; boundary=" + LATIN, 415),
    "XML": (b"application/xml", 415),
    "bytes": (b"application/octet-stream", 415),
    "a kind of JSON": (b"application/vnd.api+json", 415),
    "problems": (b"application/problem+json", 415),
    "JSON with more behind": (b"application/json-seq", 415),
    "JSON alone": (b"json", 415),
    "anything": (b"*/*", 415),
    "two in one": (b"application/json, text/plain", 415),
    "UTF-16": (b"application/json; charset=utf-16", 415),
    "Latin-1": (b"application/json; charset=iso-8859-1", 415),
    "unknown charset": (b"application/json; charset=" + LATIN, 415),
    "empty charset": (b"application/json; charset=", 415),
    "two charsets": (b"application/json; charset=utf-8; charset=utf-16", 415),
    "marker": (LATIN, 415),
    "bytes beyond ASCII": (b"application/json\xff\xfe", 415),
    "Turkish capitals": ("applİcatİon/json".encode(), 415),
    "long": (b"application/" + b"x" * 8000, 415),
    "capitals": (b"APPLICATION/JSON", 200),
    "UTF-8": (b"application/json; charset=utf-8", 200),
    "UTF-8 in capitals": (b"application/json;charset=UTF-8", 200),
    "UTF-8 in quotes": (b'application/json; charset="utf-8"', 200),
    "space around": (b"  application/json  ", 200),
    "another parameter": (b"application/json; profile=" + LATIN, 200),
    "a semicolon behind": (b"application/json;", 200),
}
"""Content types of a right body, with the status of the answer."""

_EMBED = b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\n"

_JSON = b"Content-Type: application/json\r\n"
_LENGTH = b"Content-Length: %d\r\n" % len(BODY)
_END = b"\r\n" + BODY


def _headed(*lines: bytes) -> bytes:
    return _EMBED + _JSON + b"".join(line + b"\r\n" for line in lines) + _LENGTH + _END


HEADERS: list[Case] = [
    raw("no host", _headed().replace(b"Host: localhost\r\n", b""), right=(200, 400)),
    raw("two hosts", _headed(b"Host: " + LATIN), right=(200, 400)),
    raw("host with odd characters", get("/livez", headers=b"Host: <\x01>\r\n"), right=(200, 400)),
    raw("header without a colon", _headed(LATIN), right=400),
    raw("header without a name", _headed(b": " + LATIN), right=400),
    raw("space in a name", _headed(b"X Note: " + LATIN), right=400),
    raw("space before the colon", _headed(b"X-Note : " + LATIN), right=400),
    raw("name beyond ASCII", _headed(b"X-N\xf6te: " + LATIN), right=400),
    raw("NUL in a name", _headed(b"X-\0: " + LATIN), right=400),
    raw("NUL in a value", _headed(b"X-Note: \0" + LATIN), right=400),
    raw("return in a value", _headed(b"X-Note: a\rX-Other: " + LATIN), right=400),
    raw("control character in a value", _headed(b"X-Note: \x01" + LATIN), right=(200, 400)),
    raw("value beyond ASCII", _headed(b"X-Note: \xff\xfe" + LATIN), right=200),
    raw("value without end", _EMBED + b"X-Note: " + LATIN + b"x" * 100_000, right=LARGE),
    raw("folded value", _headed(b"X-Note: a\r\n " + LATIN), right=(200, 400)),
    raw("folded first line", _EMBED.replace(b"Host", b" Host") + _JSON + _LENGTH + _END, right=400),
    raw("lines without returns", _headed().replace(b"\r\n", b"\n"), right=(200, 400)),
    raw("long value", _headed(b"X-Note: " + LATIN + b"x" * 50_000), right=200),
    raw("value that is too long", _headed(b"X-Note: " + LATIN + b"x" * 200_000), right=LARGE),
    raw("name that is too long", _headed(LATIN + b"x" * 100_000 + b": a"), right=LARGE),
    raw("hundreds of headers", _headed(*[b"X-%d: %s" % (n, LATIN) for n in range(500)]), right=200),
    raw("too many headers", _headed(*[b"X-%d: %s" % (n, LATIN) for n in range(9000)]), right=LARGE),
    raw("head without end", b"GET / HTTP/1.1\r\n" + b"X-Note: %s\r\n" % LATIN * 9000, right=LARGE),
    raw("cookie of a tracker", _headed(b"Cookie: " + (LATIN + b"=1; ") * 2000), right=200),
    raw("compressed body announced", _headed(b"Content-Encoding: gzip"), right=(200, 400, 415)),
    raw("unknown expectation", _headed(b"Expect: " + LATIN), right=(200, 417)),
    raw("range", get("/page/index.html", headers=b"Range: bytes=0-1,5-2,-9\r\n"), right=(200, 404)),
    raw(
        "etag of nonsense", get("/", headers=b'If-None-Match: "\xff", *, W/\r\n'), right=(200, 404)
    ),
    raw("accept of nonsense", _headed(b"Accept: " + LATIN + b";q=x,,;/"), right=200),
    raw("accept without end", _headed(b"Accept: " + b"a/b, " * 8000), right=200),
    raw("key where none is asked for", _headed(b"Authorization: Bearer " + LATIN), right=200),
    raw("two keys", _headed(b"Authorization: a", b"Authorization: \xff"), right=200),
    raw("forwarded by nonsense", _headed(b"X-Forwarded-For: '%s" % LATIN), right=200),
    raw("forwarded port", _headed(b"X-Forwarded-Proto: %s" % LATIN), right=200),
    raw("another method meant", _headed(b"X-HTTP-Method-Override: DELETE"), right=200),
    raw("another path meant", _headed(b"X-Original-URL: /metrics"), right=200),
    raw("connection closes", _headed(b"Connection: close"), right=200),
    raw("connection of nonsense", _headed(b"Connection: %s, \xff" % LATIN), right=200),
    raw(
        "upgrade to nonsense",
        _headed(b"Connection: upgrade", b"Upgrade: " + LATIN),
        right=(200, 400),
    ),
    raw(
        "upgrade to a socket",
        get(
            "/v1/models",
            headers=b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
        ),
        right=(200, 400, 426),
    ),
    raw(
        "upgrade to HTTP/2",
        get(
            "/v1/models",
            headers=b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            b"HTTP2-Settings: AAMA\r\n",
        ),
        right=200,
    ),
    raw("trailers announced", _headed(b"Trailer: " + LATIN, b"TE: trailers"), right=200),
    raw("nothing but a head", get("/livez", method=b"HEAD"), right=(200, 405), head_only=True),
    raw(
        "endless head in pieces",
        *[b"GET / HTTP/1.1\r\n", *[b"X: " + LATIN * 900] * 15],
        right=LARGE,
    ),
]
"""Requests whose heads are unusual."""

TYPED = [
    raw(f"content type: {name}", post(BODY, content_type=kind), right=status)
    for name, (kind, status) in CONTENT_TYPES.items()
]
