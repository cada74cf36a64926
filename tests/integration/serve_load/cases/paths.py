"""Targets that lead nowhere, or should not."""

from integration.serve_load.cases.case import MARKER, Case, get, raw

M = MARKER
NOWHERE: tuple[str, ...] = (
    f"/{M}", f"/page/{M}", "/page/", "/page", "/page/.", "/page/..", "/page/../", "/page/../app.py",
    "/page/../../../../etc/passwd", "/page/..%2fapp.py", "/page/..%2f..%2f..%2fetc%2fpasswd",
    "/page/%2e%2e/app.py", "/page/%2e%2e%2fapp.py", "/page/%252e%252e%252fapp.py",
    "/page/..%252fapp.py", "/page/..\\app.py", "/page/..%5capp.py", "/page/....//app.py",
    "/page/.%2e/app.py", "/page/%c0%ae%c0%ae/app.py", "/page/%c0%ae%c0%ae%c0%afapp.py",
    "/page/%uff0e%uff0e/app.py", "/page/..;/app.py", "/page//etc/passwd", "/page/%2fetc%2fpasswd",
    "/page/index.html/", "/page/index.html/..", "/page/index.html%00", "/page/index.html%00.js",
    "/page/%00", "/page/index.html%20", "/page/INDEX.HTML", "/page/index.html.", "/page/~",
    "/page/%", "/page/%zz", "/page/%ff", "/page/%ed%a0%80", f"/page/{M * 3000}",
    "/page/__init__.py",
    "/page/index.html::$DATA", "/page/con", "/page/file:%2f%2f%2fetc%2fpasswd",
    "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/.git/config", "/.env", "/static/index.html",
    "//livez", "/livez/", "/LIVEZ", "/livez%20", "/./livez", "/x/../livez", "/livez;a=b",
    "//v1/models", "/v1//models", "/v1/models//", "/V1/models", "/v1/Models", "/v1/models%3f",
    "/v1/models;a=b", "/v1/", "/v1", "/v2/models", "/v1/tasks", "/v1/tasks/", "/redoc",
    "/docs/oauth2-redirect", "/openapi.json/", "/openapi.yaml", "/debug", "/admin",
    "/server-status",
    "/%", "/%zz", "/%00", "/%ff", "/%s%n%x", "/{{7*7}}", "/$(id)", "/'", "/<script>",
    "///", "/%2f%2f",
)  # fmt: skip
"""Targets that are no routes: 404."""

NO_MODELS: tuple[str, ...] = (
    f"/v1/models/{M}", "/v1/models/", "/v1/models/..", "/v1/models/%2e%2e", "/v1/models/../models",
    "/v1/models/%00", "/v1/models/%ff", "/v1/models/%ed%a0%80", "/v1/models/tiny%00",
    "/v1/models/TINY", "/v1/models/tiny/", "/v1/models/%2fetc%2fpasswd", f"/v1/models/{M * 3000}",
    "/v1/models/%F0%9F%98%80", "/v1/models/%", "/v1/models/*",
)  # fmt: skip
"""Targets of models that are not there: 404."""

FOUND: tuple[str, ...] = (
    f"/livez?{M}", f"/livez?{M}={M}&a[]=%00", "/livez?" + "a=b&" * 5000, "/livez?%ff=%ed%a0%80",
    f"/livez#{M}", "/%6c%69vez", "/v1/%6dodels", "/v1/models?model=x", "/v1/models/tiny",
    "/v1/models/t%69ny", "http://localhost/livez", "http://user:pw@elsewhere.example:99/livez",
    "/openapi.json", "/docs", "/metrics", "/v1/capabilities",
)  # fmt: skip
"""Targets that are unusual and lead to something: 200."""

PATHS: list[Case] = [
    *[raw(f"nowhere: {one[:60]}", get(one), right=404) for one in (*NOWHERE, *NO_MODELS)],
    *[raw(f"found: {one[:60]}", get(one), right=200) for one in FOUND],
    raw("target without a slash", get("livez"), right=(400, 404)),
    raw("target that is a star", get("*", method=b"OPTIONS"), right=(400, 404, 405)),
    raw("target beyond ASCII", get("/caf\xe9"), right=(400, 404)),
    raw("target in UTF-8", get("/안녕".encode()), right=(400, 404)),
    raw("control character in the target", get("/\x01"), right=(400, 404)),
    raw("NUL in the target", get("/\0"), right=400),
    raw("target of another protocol", get("file:///etc/passwd"), right=(400, 404)),
    raw("target that is no address", get("http://[::1"), right=(400, 404)),
    raw("target with a wide port", get("http://localhost:99999999/livez"), right=(200, 400)),
    raw("empty host in the target", get("http:///livez"), right=(200, 400, 404)),
    raw("target of 60,000 characters", get("/" + M * 6000), right=404),
    raw("target that is too long", get("/" + M * 8000), right=(400, 414, 431)),
    raw("query that is too long", get("/livez?" + M * 8000), right=(400, 414, 431)),
]
"""All of them."""
