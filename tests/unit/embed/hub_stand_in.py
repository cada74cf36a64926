"""A stand-in of the Hub: as much of its HTTP API as `huggingface_hub` really asks for.

Repositories are kept in memory. What was asked is in `StandIn.requests`, so that tests can say what
went over the wire.
"""

import base64
import hashlib
import json
import re
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hf_a_token"
Files = dict[str, bytes]


@dataclass
class Repository:
    """A model on the stand-in."""

    branches: dict[str, Files] = field(default_factory=lambda: {"main": {}})
    private: bool = False
    gated: bool = False
    messages: list[str] = field(default_factory=list)

    def commit(self, revision: str) -> str | None:
        """Give the commit of a branch, or of a commit itself."""
        for branch, files in self.branches.items():
            digest = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
            if revision in (branch, digest):
                return digest
        return None

    def files(self, revision: str) -> Files:
        """Give the files of a branch or a commit."""
        return next(
            files for branch, files in self.branches.items()
            if revision in (branch, self.commit(branch))
        )  # fmt: skip


class StandIn:
    """The server; it runs until `close`."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.requests: list[tuple[str, str, str | None]] = []
        """Method, path and token of everything that was asked."""
        self.altered: dict[str, bytes] = {}
        """What is sent in the place of a file, by its name: a download that goes wrong."""
        self.large = True
        """Whether large files go by LFS; else they come within the commit."""
        self.objects: dict[str, bytes] = {}
        self.connections: list[socket.socket] = []
        self.closed = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._server.shutdown()
        for connection in self.connections:  # a client may have kept some open
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()

    def answer(self, method: str, path: str, token: str | None, body: bytes) -> "Answer":
        """Answer one request."""
        self.requests.append((method, path, token))
        path = path.partition("?")[0]
        if path == "/api/repos/create":
            return self._create(json.loads(body), token)
        if path == "/api/validate-yaml":
            return Answer({"errors": [], "warnings": []})
        if path.startswith("/objects/"):
            self.objects[path.removeprefix("/objects/")] = body
            return Answer({})
        for pattern, reply in (
            (r"/api/models/([^/]+/[^/]+)/(revision|tree|preupload|commit|branch)/(.+)", self._api),
            (r"/([^/]+/[^/]+)/(resolve)/([^/]+/.+)", self._api),
            (r"/([^/]+/[^/]+)\.git/(info)/(lfs/objects/batch)", self._api),
        ):
            found = re.fullmatch(pattern, path)
            if found:
                return reply(*found.groups(), token=token, body=body)
        return Answer({"error": "not here"}, status=404)

    def _create(self, wanted: dict[str, Any], token: str | None) -> "Answer":
        name = f"{wanted['organization']}/{wanted['name']}"
        if token != TOKEN:
            return Answer({"error": "Invalid username or password."}, status=401)
        if name in self.repositories:
            address = f"{self.address}/{name}"
            return Answer({"error": "You already created it", "url": address}, status=409)
        private = wanted.get("private") or wanted.get("visibility") == "private"
        self.repositories[name] = Repository(private=bool(private))
        return Answer({"url": f"{self.address}/{name}", "id": name})

    def _api(  # noqa: PLR0911
        self, name: str, what: str, rest: str, *, token: str | None, body: bytes
    ) -> "Answer":
        repository = self.repositories.get(name)
        if repository is None or (repository.private and token != TOKEN):
            # As the Hub does: who may not see it is not told whether it is there.
            return Answer({"error": "Repository not found"}, status=401, error="RepoNotFound")
        if repository.gated and token != TOKEN:
            return Answer({"error": "Access is restricted"}, status=403, error="GatedRepo")
        if what == "branch":
            repository.branches.setdefault(rest, dict(repository.branches["main"]))
            return Answer({})
        if what == "info":
            return self._lfs(json.loads(body))
        revision, _, file = rest.partition("/")
        commit = repository.commit(revision)
        if commit is None:
            return Answer({"error": "Invalid rev"}, status=404, error="RevisionNotFound")
        if what == "resolve":
            return self._resolve(repository, revision, file, commit)
        files = repository.files(revision)
        if what == "revision":
            siblings = [{"rfilename": file} for file in files]
            return Answer(
                {"_id": "1", "id": name, "sha": commit, "siblings": siblings, "private": False}
            )
        if what == "tree":
            return Answer([_entry(file, content) for file, content in files.items()])
        if token != TOKEN:
            return Answer({"error": "You are not logged in"}, status=401)
        if what == "preupload":
            return Answer({"files": [self._mode(one["path"]) for one in json.loads(body)["files"]]})
        return self._commit(repository, revision, body, name)

    def _resolve(self, repository: Repository, revision: str, file: str, commit: str) -> "Answer":
        content = repository.files(revision).get(file)
        if content is None:
            return Answer({"error": "Entry not found"}, status=404, error="EntryNotFound")
        sent = self.altered.get(file, content)
        return Answer(sent, headers={"X-Repo-Commit": commit, "ETag": f'"{_digest(content)}"'})

    def _mode(self, path: str) -> dict[str, Any]:
        large = self.large and path.endswith(".safetensors")
        return {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False}

    def _lfs(self, wanted: dict[str, Any]) -> "Answer":
        objects = [
            {
                **one,
                "authenticated": True,
                "actions": {
                    "upload": {"href": f"{self.address}/objects/{one['oid']}", "header": {}}
                },
            }
            for one in wanted["objects"]
        ]
        return Answer({"transfer": "basic", "objects": objects})

    def _commit(self, repository: Repository, branch: str, body: bytes, name: str) -> "Answer":
        files = repository.branches[branch]
        for line in body.decode().splitlines():
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "header":
                repository.messages.append(value["summary"])
            elif item["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif item["key"] == "lfsFile":
                content = self.objects[value["oid"]]
                assert (hashlib.sha256(content).hexdigest(), len(content)) == (
                    value["oid"],
                    value["size"],
                )
                files[value["path"]] = content
            else:
                assert item["key"] == "deletedFile", item
                del files[value["path"]]
        commit = repository.commit(branch)
        address = f"{self.address}/{name}/commit/{commit}"
        return Answer({"commitUrl": address, "commitOid": commit, "hookOutput": ""})


@dataclass
class Answer:
    """What is sent back: a JSON value, or a file's bytes."""

    content: Any
    status: int = 200
    error: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


def _entry(file: str, content: bytes) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "path": file, "size": len(content)}
    entry["oid"] = hashlib.sha1(content).hexdigest()
    if file.endswith(".safetensors"):
        entry["lfs"] = {"oid": _digest(content), "size": len(content), "pointerSize": 134}
    return entry


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _handler(hub: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            hub.connections.append(self.connection)

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
            answer = hub.answer(self.command, self.path, token, body)
            content = answer.content
            if not isinstance(content, bytes):
                content = json.dumps(content).encode()
            self.send_response(answer.status)
            if answer.error is not None:
                self.send_header("X-Error-Code", answer.error)
                self.send_header("X-Error-Message", str(answer.content.get("error")))
            for key, value in answer.headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_POST = do_PUT = do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    return Handler
