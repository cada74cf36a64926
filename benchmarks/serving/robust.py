"""The parts that throw things at a server: schema fuzzing, bytes, unfinished requests, no key."""

import json

from integration.serve_load.case_runner import run_case
from integration.serve_load.cases.case import CLOSED
from integration.serve_load.cases.corpus import corpus, corpus_of_other_routes
from integration.serve_load.key_walk import UNLISTED, is_public, walked
from integration.serve_load.random_gets import random_gets
from integration.serve_load.schema_fuzz import fuzz_schema
from integration.serve_load.served_models import write_model, write_recogniser
from integration.serve_load.server_process import ServerProcess
from integration.serve_load.unfinished import BEGINNINGS, UnfinishedClients
from serving.context import Context
from serving.line import Part

WITHOUT_INPUT = ("/livez", "/readyz", "/v1/models", "/v1/capabilities")
KEY = "sk-8Yw3-correct_horse.battery"


def tiny_options(context: Context) -> tuple[str, list[str]]:
    """Make models that are tiny, with every route at work: what is tested is not the model."""
    folder = context.folder / "tiny-models"
    model = folder / "tiny"
    if not model.exists():
        folder.mkdir()
        write_model(model, lstm_dim=64, projection_dim=16)
        write_recogniser(folder / "recogniser")
    task = folder / "recogniser" / "task"
    return str(model), ["--index", "demo", "--task", f"ner={task}"]


def fuzz(context: Context) -> Part:
    """Run schemathesis."""
    part = Part()
    least = context.number(1000, 50)
    model, options = tiny_options(context)
    with context.server(options, model=model) as server:
        found = fuzz_schema(server.port, context.folder / "schemathesis", examples=least)
        gets = {path: random_gets(server, path, count=least) for path in WITHOUT_INPUT}
        alive = server.process.poll() is None
    with_input = {
        name: count
        for name, count in found.cases.items()
        if name.removeprefix("GET ") not in WITHOUT_INPUT
    }
    part.add(
        "schema fuzzing: cases of each operation with input",
        f">= {least:,}",
        f"{min(with_input.values()):,} to {max(with_input.values()):,} "
        f"({sum(with_input.values()):,} of {len(with_input)} operations)",
        min(with_input.values()) >= least,
    )
    failed = found.server_errors + sum(
        one[status] for one in gets.values() for status in one if status >= 500
    )
    part.add("schema fuzzing: answers >= 500", "0", str(failed), failed == 0)
    part.add(
        "schema fuzzing: checks that failed, requests without an answer",
        "0, 0",
        f"{sum(found.failures.values())}, {found.unanswered}",
        alive and not found.failures and not found.unanswered,
    )
    part.remark(f"cases: {json.dumps(dict(sorted(found.cases.items())))}")
    part.remark(f"phases: {json.dumps(found.phases)}; modes: {json.dumps(found.modes)}")
    part.remark(f"answers: {json.dumps({str(k): v for k, v in sorted(found.statuses.items())})}")
    part.remark(
        "an operation without input has the few cases that a schema knows of it, and "
        f"{least:,} more with queries and headers by chance: "
        f"{json.dumps({path: dict(one) for path, one in gets.items()})}"
    )
    for failure, count in found.failures.items():
        part.remark(f"failed: {failure}, {count} times")
    return part


def raw_bytes(context: Context) -> Part:
    """Send the corpus, and requests that never end."""
    part = Part()
    model, options = tiny_options(context)
    with context.server(options, model=model) as server:
        lingering = UnfinishedClients(server.port)
        lingering.start()
        own, other = corpus(), corpus_of_other_routes()
        problems: dict[str, list[str]] = {}
        unanswered = 0
        for case in [*own, *other]:
            if found := run_case(case, server.port):
                problems[case.name] = found
            unanswered += not is_answered(server)
        ends = lingering.wait()
        still = server.unfinished()
    part.add(
        "raw bytes: cases",
        ">= 200",
        f"{len(own)} distinct, and {len(other)} again on other routes",
        len(own) >= 200,
    )
    errors = [name for name, found in problems.items() if "the server failed" in str(found)]
    hangs = [name for name, found in problems.items() if "none within" in str(found)]
    part.add(
        "raw bytes: answers >= 500, hangs",
        "0, 0",
        f"{len(errors)}, {len(hangs)}",
        not errors and not hangs,
    )
    part.add(
        "raw bytes: next requests that were not answered", "0", str(unanswered), unanswered == 0
    )
    part.add(
        "raw bytes: answers that are wrong, tell the input or a path",
        "0",
        str(len(problems)),
        not problems,
    )
    held = {name: end for name, end in ends.items() if end not in (CLOSED, 400, 408)}
    part.add(
        "requests that never end: let go",
        f"{len(BEGINNINGS)} of {len(BEGINNINGS)}",
        f"{len(ends) - len(held)} of {len(BEGINNINGS)}, {still} left",
        not held and still == 0 and len(ends) == len(BEGINNINGS),
    )
    for name, wrong in problems.items():
        part.remark(f"{name}: {'; '.join(wrong)}")
    return part


def is_answered(server: ServerProcess) -> bool:
    """Whether an ordinary request is answered."""
    body = json.dumps({"input": "The cat sat on the mat ."}).encode()
    answer = server.ask("POST", "/v1/embeddings", body)
    return answer.status == 200 and len(json.loads(answer.body)["data"]) == 1


def keys(context: Context) -> Part:
    """Walk the routes without a key."""
    part = Part()
    count, wrong = 0, []
    with context.server(model="tiny-untrained", key=KEY) as server:
        described = json.loads(server.ask("GET", "/openapi.json").body)["paths"]
        routes = [path.replace("{name}", "tiny-untrained") for path in described]
        guarded = [path for path in [*routes, *UNLISTED] if not is_public(path)]
        for method, target, answer in walked(server, guarded):
            count += 1
            allowed = {200, 404, 405} if is_public(target) else {401}
            if answer.status not in allowed | {0, 400}:
                wrong.append(f"{method} {target}: {answer.status}")
    part.add(
        "routes without a key: not 401",
        "0",
        f"{len(wrong)} of {count:,} ({len(guarded)} routes, in many spellings and methods)",
        not wrong,
    )
    for one in wrong:
        part.remark(one)
    return part
