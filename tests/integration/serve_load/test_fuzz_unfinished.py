"""Requests that never end. They began before other tests, which needed answers meanwhile."""

from integration.serve_load.cases.case import CLOSED
from integration.serve_load.server_process import ServerProcess
from integration.serve_load.unfinished import BEGINNINGS, UnfinishedClients

LET_GO = {CLOSED, 400, 408}


def test_clients_that_never_end_a_request_are_let_go(
    fuzzed_server: ServerProcess, unfinished: UnfinishedClients
) -> None:
    ends = unfinished.wait()
    assert set(ends) == set(BEGINNINGS)
    assert {name: end for name, end in ends.items() if end not in LET_GO} == {}
    assert fuzzed_server.unfinished() == 0
