"""What lies in deploy/ fits together and fits the program, as far as that shows without Docker,
Kubernetes and Slurm."""

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import typer.main

from elmokit.cli.main import app

yaml: Any = pytest.importorskip("yaml")
kubernetes_validate: Any = pytest.importorskip("kubernetes_validate")

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SECRET = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)


def dockerfile() -> list[tuple[str, str]]:
    """Give the instructions with their words, lines that go on joined."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def last_stage() -> list[tuple[str, str]]:
    found = dockerfile()
    begin = max(place for place, (word, _) in enumerate(found) if word == "FROM")
    return found[begin:]


def one(stage: list[tuple[str, str]], instruction: str) -> str:
    (found,) = [rest for word, rest in stage if word == instruction]
    return found


class Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Knows how Compose says that a list replaces another."""


Loader.add_constructor("!override", lambda loader, node: loader.construct_sequence(node))


def loaded(name: str) -> list[Any]:
    return list(yaml.load_all((DEPLOY / name).read_text(), Loader))


def options_of(*command: str) -> set[str]:
    found: Any = typer.main.get_command(app)
    for name in command:
        found = found.commands[name]
    return {option for parameter in found.params for option in parameter.opts}


def named_options(words: list[str]) -> set[str]:
    return {word.split("=")[0] for word in words if word.startswith("-") and len(word) > 1}


def test_the_image_runs_as_nobody_in_particular() -> None:
    stage = last_stage()
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", one(stage, "USER"))
    words = [word for word, _ in stage]
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert not [rest for word, rest in dockerfile() if word == "ADD"]
    for word, rest in dockerfile():
        if word in ("ENV", "ARG"):
            assert not SECRET.search(rest)
    assert sum(word == "FROM" for word, _ in dockerfile()) == 2


def test_the_image_has_a_health_check_and_a_command_that_exist() -> None:
    stage = last_stage()
    port = one(stage, "EXPOSE")
    assert f"http://127.0.0.1:{port}/readyz" in one(stage, "HEALTHCHECK")
    entry, words = (yaml.safe_load(one(stage, name)) for name in ("ENTRYPOINT", "CMD"))
    assert (entry, words[0]) == (["elmo"], "serve")
    assert named_options(words) <= options_of("serve")
    assert words[words.index("--port") + 1] == port


def test_the_image_is_made_of_what_is_there() -> None:
    arguments = dict(rest.split("=") for word, rest in dockerfile() if word == "ARG")
    constraints = (ROOT / "constraints.txt").read_text().splitlines()
    assert f"torch=={arguments['TORCH_VERSION']}" in constraints
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(arguments["EXTRAS"].split(",")) <= set(project["optional-dependencies"])
    assert (
        f"Programming Language :: Python :: {arguments['PYTHON_VERSION']}"
        in (project["classifiers"])
    )
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    let_in = [line[1:] for line in ignored if line.startswith("!")]
    for word, rest in dockerfile():
        if word == "COPY" and "--from" not in rest:
            for name in rest.split()[:-1]:
                assert (ROOT / name).exists()
                assert any(fnmatch(name, pattern) for pattern in let_in), name


def test_compose_refers_to_what_is_there() -> None:
    (base,), (key,) = loaded("compose.yaml"), loaded("compose.key.yaml")
    server, prometheus = base["services"]["server"], base["services"]["prometheus"]
    assert (DEPLOY / server["build"]["context"] / server["build"]["dockerfile"]).is_file()
    assert (DEPLOY / server["build"]["context"]).resolve() == ROOT
    assert server["read_only"] is True
    assert prometheus["depends_on"]["server"]["condition"] == "service_healthy"
    for service in (server, prometheus):
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert not service.get("image", ":").endswith(":latest") or "build" in service
    for services in (base["services"], key["services"]):
        for volume in services["prometheus"]["volumes"]:
            place = volume.split(":")[0]
            assert place in base["volumes"] or (DEPLOY / place).is_file(), volume
    command = key["services"]["server"]["command"]
    assert named_options(command) <= options_of("serve")
    assert command[command.index("--api-key-file") + 1] == "/run/secrets/key"
    # Only whoever has the key reaches a server that is open to others.
    assert key["services"]["server"]["secrets"] == ["key"]
    assert not (DEPLOY / key["secrets"]["key"]["file"]).exists()


@pytest.mark.parametrize("name", ["prometheus.yml", "prometheus.key.yml"])
def test_prometheus_asks_the_server(name: str) -> None:
    (found,) = loaded(name)
    (base,) = loaded("compose.yaml")
    (job,) = found["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    host, port = target.split(":")
    assert host in base["services"]
    assert port == one(last_stage(), "EXPOSE")
    assert job["metrics_path"] == "/metrics"
    assert (DEPLOY / found["rule_files"][0]).is_file()
    assert ("authorization" in job) == (name == "prometheus.key.yml")


def test_alerts_name_figures_that_the_server_has() -> None:
    pytest.importorskip("fastapi")
    from elmokit.serve.metrics import Metrics

    metrics = Metrics()
    metrics.seconds.labels("/", "200").observe(1)
    known = {
        line.split("{")[0].split()[0]
        for line in metrics.text().decode().splitlines()
        if not line.startswith("#")
    } | {"up"}
    (found,) = loaded("alerts.yml")
    used: set[str] = set()
    for rule in found["groups"][0]["rules"]:
        used |= set(re.findall(r"\b(up|elmokit_\w+)\b", re.sub(r'"[^"]*"', "", rule["expr"])))
    assert len(used) > 2
    assert used <= known


@pytest.mark.parametrize("name", ["serve.yaml", "train.yaml"])
def test_kubernetes_knows_every_field(name: str) -> None:
    newest = kubernetes_validate.latest_version()
    for document in loaded(f"kubernetes/{name}"):
        kubernetes_validate.validate(document, newest, strict=True)


def test_kubernetes_serves_what_the_server_offers() -> None:
    pytest.importorskip("fastapi")
    deployment, service = loaded("kubernetes/serve.yaml")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"][0] == "serve"
    assert named_options(container["args"]) <= options_of("serve")
    assert pod["securityContext"]["runAsNonRoot"] is True
    user = f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"
    assert user == one(last_stage(), "USER")
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    paths = {
        container[f"{kind}Probe"]["httpGet"]["path"]
        for kind in ("startup", "readiness", "liveness")
    }
    assert paths == {"/readyz", "/livez"}
    from elmokit.serve.run import SECONDS_TO_FINISH

    assert pod["terminationGracePeriodSeconds"] > SECONDS_TO_FINISH
    names = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert str(names["http"]) == one(last_stage(), "EXPOSE")
    assert service["spec"]["ports"][0]["targetPort"] in names
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_kubernetes_trains_with_options_that_exist() -> None:
    service, job = loaded("kubernetes/train.yaml")
    spec = job["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    values = {variable["name"]: variable["value"] for variable in container["env"]}
    assert int(values["NODES"]) == spec["completions"] == spec["parallelism"]
    assert values["GPUS"] == container["resources"]["limits"]["nvidia.com/gpu"]
    (script,) = container["args"]
    subprocess.run(["bash", "-n", "-c", script], check=True)
    words = shlex.split(script.split("&\n")[0])
    place = words.index("train")
    assert words[:1] + words[place - 2 : place] == ["torchrun", "-m", "elmokit.cli"]
    assert named_options(words[place:]) <= options_of("train")
    (rows,) = [int(word[5:]) for word in words if word.startswith("rows=")]
    assert rows % (int(values["NODES"]) * int(values["GPUS"])) == 0
    address = words[words.index("--master-addr") + 1]
    assert address == f"{job['metadata']['name']}-0.{service['metadata']['name']}"
    assert pod["subdomain"] == service["metadata"]["name"]
    assert 'test -d "$RUN/model"' in script


@pytest.mark.parametrize("name", ["train.sbatch", "embed.sbatch"])
def test_slurm_scripts_are_scripts(name: str) -> None:
    script = DEPLOY / "slurm" / name
    subprocess.run(["bash", "-n", str(script)], check=True)
    finished = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=False)
    assert finished.returncode == 1
    assert "usage: sbatch" in finished.stderr


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cluster of this machine: srun runs what it is given, scontrol knows one name."""
    commands = tmp_path / "commands"
    commands.mkdir()
    bodies = {
        "srun": 'while [[ $1 == -* ]]; do [[ $1 == -w ]] && shift; shift; done\nexec "$@"\n',
        "scontrol": 'case "$1" in show) echo localhost;; requeue) echo "again: $2";; esac\n',
    }
    for name, body in bodies.items():
        (commands / name).write_text(f"#!/usr/bin/env bash\n{body}")
        (commands / name).chmod(stat.S_IRWXU)
    places = [str(commands), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(places))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for name, value in {
        "JOB_ID": str(os.getpid()),
        "JOB_NODELIST": "all",
        "NNODES": "1",
        "NODEID": "0",
        "CPUS_PER_TASK": "1",
    }.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def submit(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(DEPLOY / "slurm" / name), *words],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.slow
def test_a_slurm_run_is_queued_again_until_it_is_finished(slurm: Path) -> None:
    (slurm / "text.txt").write_text("The cat sat on the mat .\nA dog ran .\n" * 400)
    subprocess.run(["elmo", "prepare", "text.txt", "-o", "prepared"], check=True)
    words = ("prepared", "run", "--device", "cpu", "--set", "steps=30", "--set", "samples=null")
    first = submit("train.sbatch", *words, "--minutes", "0.001")
    assert (first.returncode, "again: " in first.stdout) == (0, True), first.stderr
    assert not (slurm / "run" / "model").exists()
    second = submit("train.sbatch", *words)
    assert (second.returncode, "finished: run/model" in second.stdout) == (0, True), second.stderr
    wrong = submit("train.sbatch", "nothing", "run2")
    assert (wrong.returncode, "saved nothing new" in wrong.stderr) == (1, True)
    assert "again: " not in wrong.stdout


@pytest.mark.slow
def test_a_slurm_job_embeds_on_its_own_ray(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    folder = Path("/tmp") / f"ray-{os.getpid()}"  # short, as names of sockets must be
    folder.mkdir()
    monkeypatch.setenv("RAY_TMPDIR", str(folder))
    (slurm / "a.txt").write_text("One.\nTwo.\n")
    (slurm / "b.txt").write_text("Three.\n")
    try:
        done = submit("embed.sbatch", "out", "a.txt", "b.txt", "--", "-m", "tiny-untrained")
    finally:
        # In a job of Slurm they end with it.
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if f"RAY_TMPDIR={folder}\0".encode() in (process / "environ").read_bytes():
                    os.kill(int(process.name), 9)
            except OSError:
                continue
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    assert "out: 2 shards (all made now), 3 sentences" in done.stdout
