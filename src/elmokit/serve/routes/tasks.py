"""POST /v1/tasks/{name}: what a task's model answers."""

from starlette.requests import Request

from elmokit.serve.answer import Answer, json_answer
from elmokit.serve.fields import check_names
from elmokit.serve.predicting import check_depth, words_of
from elmokit.serve.problems import RequestError, wrong_field
from elmokit.serve.request_body import json_object
from elmokit.serve.service import Service
from elmokit.serve.work import Work

FIELDS = ("input",)
# Answers grow with their inputs; a few thousand tokens are encoded at once.
TOKENS_AT_ONCE = 4096


async def task(request: Request, service: Service) -> Answer:
    """Give what a task's model answers."""
    name = request.path_params["name"]
    predicting = service.tasks.get(name)
    if predicting is None:
        loaded = ", ".join(service.tasks) or "none (start the server with --task)"
        raise RequestError(404, f"there is no such task here; loaded are {loaded}", code="no_task")
    values = await json_object(request)
    check_names(values, FIELDS)
    given = values["input"]
    inputs = given if isinstance(given, list) else [given]
    limits = service.limits
    if not inputs or not all(isinstance(one, str | dict | list) for one in inputs):
        raise wrong_field("input", "a string, an object, or a list of inputs")
    if len(inputs) > limits.inputs:
        raise wrong_field("input", f"at most {limits.inputs} inputs", code="too_many_inputs")
    check_depth(inputs)
    costs = [words_of(one) for one in inputs]
    if max(costs) > limits.batch_tokens or sum(costs) > limits.request_tokens:
        raise wrong_field(
            "input",
            f"inputs of at most {limits.batch_tokens} tokens, and {limits.request_tokens} in all",
            code="too_many_tokens",
        )
    work = Work(predicting, inputs, [max(1, cost) for cost in costs])
    parts = await service.computed(request, work)
    data = [answer for part in parts for answer in part]
    return await service.apart(
        lambda: json_answer({"object": "list", "task": name, "data": data}),
        small=sum(costs) < TOKENS_AT_ONCE,
    )
