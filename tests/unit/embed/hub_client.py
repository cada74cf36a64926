"""A process that uses the Hub when it is told to; the address of the Hub is fixed when it starts.

Each line of standard input is a JSON object: ``call`` is what to do, the rest its arguments. Each
answer is a line of standard output.
"""

import json
import sys
import warnings
from typing import Any


def answer(call: str, name: str, **arguments: Any) -> dict[str, Any]:
    import elmokit

    if call == "push":
        elmo = elmokit.load(arguments.pop("model"), device="cpu")
        return {"address": elmo.push_to_hub(name, **arguments)}
    if call == "load":
        elmo = elmokit.load(name)
    else:
        elmo = elmokit.Elmo.from_pretrained(name, device="cpu", **arguments)
    return {"vectors": elmo.embed([["the", "cat", "sat"]])[0].tolist()}


def main() -> None:
    warnings.simplefilter("ignore")
    from elmokit.errors import ElmoError

    for line in sys.stdin:
        try:
            found = answer(**json.loads(line))
        except ElmoError as error:
            found = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
