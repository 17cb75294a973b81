"""Batch jobs: their facts are recorded, a script records its command, and jobs of a real Slurm are recorded."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from background_merges import mergers
from conftest import ROOT, Project, provio_command
from forked_queries import asked
from slurm import HOST
from slurm import slurm as slurm

from provio.cli.verbs import batch as verb
from provio.record import batch
from provio.system import jobs

LONGEST = 300  # seconds
JOBS = {
    "slurm": {
        "SLURM_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_PARTITION": "long",
        "SLURM_JOB_ACCOUNT": "das", "SLURM_JOB_NUM_NODES": "2", "SLURM_NTASKS": "8",
    },
    "pbs": {
        "PBS_JOBID": "7", "PBS_ARRAY_INDEX": "3", "PBS_QUEUE": "long", "PBS_ACCOUNT": "das", "PBS_NUM_NODES": "2",
        "PBS_NP": "8",
    },
    "lsf": {
        "LSB_JOBID": "7", "LSB_JOBINDEX": "3", "LSB_HOSTS": "n[1-2]", "LSB_QUEUE": "long", "LSB_PROJECT_NAME": "das",
        "LSB_DJOB_NUMPROC": "8",
    },
    "flux": {"FLUX_JOB_ID": "7", "FLUX_JOB_NNODES": "2", "FLUX_JOB_SIZE": "8"},
}  # fmt: skip


@pytest.mark.parametrize("system", JOBS)
def test_a_job_s_facts_have_the_same_names_for_all_systems(system: str, tmp_path: Path) -> None:
    said = dict(JOBS[system])
    if system == "pbs":
        (tmp_path / "nodes").write_text("n1\nn1\nn2\n")
        said["PBS_NODEFILE"] = str(tmp_path / "nodes")
    resources = {"lsf": "tasks=8"}.get(system, "nodes=2 tasks=8")
    expected = {"jobId": "7", "jobArrayIndex": "3", "jobNodes": "n1,n2" if system == "pbs" else "n[1-2]",
                "jobPartition": "long", "jobAccount": "das", "jobResources": resources}  # fmt: skip
    if system == "flux":
        expected = {name: expected[name] for name in ("jobId", "jobResources")}
    assert jobs.facts(said) == expected


def test_missing_facts_are_left_out(tmp_path: Path) -> None:
    assert jobs.facts({"SLURM_PROCID": "1"}) == {}
    assert jobs.facts({"LSB_JOBID": "7", "LSB_JOBINDEX": "0"}) == {"jobId": "7"}
    assert jobs.facts({"PBS_JOBID": "7", "PBS_NODEFILE": str(tmp_path)}) == {"jobId": "7"}


def test_a_list_of_hosts_in_a_run_is_no_path(tmp_path: Path) -> None:
    """For any text: no file that a run names is opened."""
    os.mkfifo(tmp_path / "fifo")
    found: dict[str, dict[str, str]] = {}
    for number, said in enumerate(("n1", "n1 1\nn2\n", str(tmp_path / "fifo"), "")):
        values = {"PBS_JOBID": str(number), "PBS_NODEFILE": said}
        assert jobs.takes(found, "0.job.7.ttl", {name: {"name": name, "value": values[name]} for name in values})
    assert [job.get("jobNodes", "") for job in found.values()] == ["n1", "n1,n2", str(tmp_path / "fifo"), ""]


@pytest.mark.integration
def test_a_job_s_facts_are_part_of_the_run(project: Project) -> None:
    project.env |= JOBS["slurm"]
    project.watch("true")
    rows = project.provio("query", "environment-of-run", "-p", "run=last", "--as", "json").stdout
    found = json.loads(rows)["results"]["bindings"]
    facts = {row["name"]["value"]: row["value"]["value"] for row in found}
    assert (facts["jobArrayIndex"], facts["jobNodes"], facts["jobPartition"]) == ("3", "n[1-2]", "long")
    assert (facts["jobAccount"], facts["jobResources"]) == ("das", "nodes=2 tasks=8")


def test_the_shim_copies_all_variables_of_jobs() -> None:
    """Except those of Grid Engine, with too general names; it identifies a job by the same variables."""
    text = (ROOT / "interceptors" / "posix" / "job.c").read_text(encoding="utf-8")
    tables = dict(re.findall(r"^static const char (\w+)\[[^=]*= \{(.*?)\n?\};$", text, re.MULTILINE | re.DOTALL))
    kept = {name: set(re.findall(r'"(\w+)"', table)) for name, table in tables.items()}
    systems = [system for system in jobs.SYSTEMS if system.id != "JOB_ID"]
    assert kept["lists"] == {system.hosts_file for system in systems} - {""}
    assert kept["numbers"] == {name for system in systems for name in (system.id, *system.array_index)}
    known = {
        name
        for system in systems
        for name in (*system.nodes, *system.partition, *system.account, *(name for _, name in system.resources))
    }
    assert kept["variables"] == known | kept["numbers"]
    assert all(len(name) < 24 for names in kept.values() for name in names)


def named_jobs(project: Project) -> list[dict[str, str]]:
    """Return the facts of each job of the run."""
    query = "SELECT ?name ?value { ?run provio:inJob ?job . ?job ?name ?value FILTER (CONTAINS(STR(?name), '#job')) }"
    found: dict[str, dict[str, str]] = {}
    for row in project.rows(query.replace("SELECT", "SELECT ?job")):
        found.setdefault(row["job"], {})[row["name"].rpartition("#")[2]] = row["value"]
    return [found[job] for job in sorted(found)]


@pytest.mark.integration
def test_jobs_that_join_a_run_are_named_with_their_facts(project: Project, tmp_path: Path) -> None:
    """Its own and each other job, of any system; a command of the same job adds nothing."""
    hosts = tmp_path / "hosts of the job"
    hosts.write_text("n1\nn1\nn2\n")
    known = ("jobArrayIndex", "jobPartition", "jobAccount", "jobResources", "jobNodes")
    before, expected = dict(project.env), []
    for number, (system, said) in enumerate(JOBS.items()):
        said = {**said, **({"PBS_NODEFILE": str(hosts)} if system == "pbs" else {})}
        said[{"slurm": "SLURM_JOB_ID", "pbs": "PBS_JOBID", "lsf": "LSB_JOBID", "flux": "FLUX_JOB_ID"}[system]] = (
            f"{number}"
        )
        project.env = {**before, **said, "PROVIO_RUN": "all"}
        for _ in range(2):
            project.watch("sh", "-c", f"echo {number} > {system}")
        expected.append(jobs.facts(said))
    hosts.unlink()  # with the job
    project.env = before
    assert named_jobs(project) == expected
    assert expected[1]["jobNodes"] == "n1,n2" and set(expected[1]) == {"jobId", *known}
    assert project.count("?run a provio:Run") == 1
    shown = project.provio("show", "last").stdout
    assert "job      1[3] on n1,n2, partition long, account das, nodes=2 tasks=8\n" in shown
    assert len([path for path in project.trace_files() if path.name.startswith(jobs.PREFIX)]) == 3  # not its own


@pytest.mark.parametrize("system", batch.SYSTEMS)
@pytest.mark.integration
def test_a_script_runs_its_command_and_ends_as_it_does(project: Project, system: str) -> None:
    """As a batch system runs it: one run with the script's name, and its exit code."""
    words = ["bash", "-c", "cp in 'my out'; exit 7"]
    text = project.provio("batch", system, "--name", "the job", "--", *words).stdout
    (project.path / "in").write_text("1")
    done = subprocess.run(
        ["bash", "-c", text], cwd=project.path, env=project.env | {"PBS_O_WORKDIR": str(project.path)}
    )
    assert done.returncode == 7
    assert project.ancestors("my out")["data"] == {"in"}
    assert [run["name"] for run in runs(project)] == ["the job"]


def test_a_script_passes_a_signal_on(project: Project) -> None:
    program = (
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(9)); print(1, flush=True); time.sleep(60)"
    )
    text = project.provio("batch", "slurm", "--", sys.executable, "-c", program).stdout
    job = subprocess.Popen(["bash", "-c", text], cwd=project.path, env=project.env, stdout=subprocess.PIPE)
    assert job.stdout is not None
    assert job.stdout.readline() == b"1\n"
    job.send_signal(signal.SIGTERM)
    assert job.wait(60) == 9


PRINTS = (
    "import os, signal, sys; print(signal.getsignal(2) is signal.default_int_handler, sys.stdin.read(), os.getppid())"
)


@pytest.mark.parametrize("system", batch.SYSTEMS)
def test_a_script_keeps_the_input_and_the_signals_of_its_command(project: Project, system: str) -> None:
    """Standard input, the disposition of SIGINT, and the job's own process: no shell is in between."""
    text = project.provio("batch", system, "--", sys.executable, "-c", PRINTS).stdout
    environment = project.env | {"PBS_O_WORKDIR": str(project.path)}
    job = subprocess.Popen(["bash", "-c", text], cwd=project.path, env=environment, text=True,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert job.communicate("asked", timeout=60)[0].split() == ["True", "asked", str(job.pid)]


@pytest.mark.parametrize("system", batch.SYSTEMS)
def test_a_script_is_good_shell(project: Project, system: str) -> None:
    """For any request, the shell parses it, and shellcheck reports nothing."""
    if shutil.which("shellcheck") is None:
        pytest.skip("not installed: shellcheck (make test installs it where it may)")
    request = ["--name", "it's", "--campaign", "a b", "--nodes", "2", "--tasks", "8", "--time", "60", "--array", "1-3"]
    request += ["--partition", "long", "--account", "das", "--module", "gcc/13", "--module", "hdf5"]
    text = project.answer("batch", system, *request, "--", "./sim", "a 'b'", "$HOME")
    for checker in (["bash", "-n"], ["shellcheck", "--severity=warning", "--shell=bash", "-"]):
        done = subprocess.run(checker, input=text, capture_output=True, text=True)
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), text
    assert [line for line in text.splitlines() if line.startswith("module")] == [
        "module load gcc/13 || exit 1", "module load hdf5 || exit 1",
    ]  # fmt: skip


@pytest.mark.parametrize("system", batch.SYSTEMS)
@pytest.mark.parametrize("nodes", ["1", "2"])
def test_a_script_that_collects_is_good_shell(project: Project, system: str, nodes: str) -> None:
    """Captured files are collected when all tasks have ended, once on each node."""
    if shutil.which("shellcheck") is None:
        pytest.skip("not installed: shellcheck (make test installs it where it may)")
    project.env["PROVIO_CAPTURE_DIR"] = "/tmp"
    text = project.provio("batch", system, "--tasks", "8", "--nodes", nodes, "--", "./sim").stdout
    checker = ["shellcheck", "--severity=warning", "--shell=bash", "-"]
    done = subprocess.run(checker, input=text, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, ""), text
    (line,) = [line for line in text.splitlines() if line.endswith("provio merge --collect --quiet")]
    assert line.startswith("provio" if nodes == "1" else ("srun --nodes=2", "pbsdsh -u", "blaunch -z"))
    assert len([line for line in text.splitlines() if line.startswith("exec")]) == 0


@pytest.mark.parametrize("system", ["slurm", "pbs", "lsf"])
def test_words_are_the_commands_own(project: Project, system: str) -> None:
    """With any bytes: shell syntax, or no valid text."""
    words = [b"a  b", b"$PATH", b"`id`", b"new\nline", b"--", b"", b"\xff\xfe", "é".encode(), b"\"'", b"\\"]
    command = [*provio_command(), "batch", system, "--", "printf", "%s|", *words]
    text = subprocess.run(command, cwd=project.path, env=project.env, capture_output=True, check=True).stdout
    env = project.env | {"PBS_O_WORKDIR": str(project.path)}
    done = subprocess.run(["bash"], input=text, cwd=project.path, env=env, capture_output=True, check=True)
    assert done.stdout == b"".join(word + b"|" for word in words)


OPTIONS = "name campaign time array partition account module".split()


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.integration
def test_a_request_is_one_line(project: Project, option: str) -> None:
    """No request adds a line, or a control character, to the script."""
    before = ["--module", "gcc"] if option == "module" else []
    for value in ("a\n#SBATCH --x", "a\r", "\x1bb", "a\tb", "\x7f", "a\u009bb"):
        done = asked(("batch", "slurm", *before, f"--{option}", value, "--", "true"), project.path, project.env)
        word = f"provio: --{option} must be one line without control characters: change it (see provio batch --help)"
        assert (done.returncode, done.stdout, done.stderr.strip().splitlines()[-1]) == (2, "", word)


def test_every_option_with_a_text_is_tested() -> None:
    """A new one must be added to the test above."""
    options = [option for option in verb.command.params if isinstance(option, click.Option)]
    texts = {option.opts[0] for option in options if isinstance(option.type, click.types.StringParamType)}
    assert texts == {f"--{name}" for name in OPTIONS}


def test_names_of_folders_are_quoted(project: Project) -> None:
    """A project's folder may have a newline in its name: it is one word in the script."""
    inside = project.path / "a\n#SBATCH --x 'b'"
    (inside / ".provio").mkdir(parents=True)
    command = [*provio_command(), "batch", "slurm", "--", "sh", "-c", 'printf %s "$PROVIO_HOME"']
    text = subprocess.run(command, cwd=inside, env=project.env, capture_output=True, check=True).stdout
    done = subprocess.run(["bash"], input=text, cwd=inside, env=project.env, capture_output=True, check=True)
    assert done.stdout == os.fsencode(inside / ".provio")


def runs(project: Project) -> list[dict[str, str]]:
    return json.loads(project.answer("runs", "--as", "json"))  # type: ignore[no-any-return]


def submit(project: Project, slurm: dict[str, str], text: str, *options: str) -> str:
    """Submit a script and wait for its end; return its output."""
    (project.path / "job.sh").write_text(text)
    command = ["sbatch", "--output=job-%a.log", *options, "job.sh"]
    done = subprocess.run(
        command, cwd=project.path, env=project.env | slurm, capture_output=True, text=True, timeout=120
    )
    assert "Submitted" in done.stdout, done.stderr
    jobs_end(slurm)
    return "".join(path.read_text() for path in sorted(project.path.glob("job-*.log")))


def jobs_end(slurm: dict[str, str]) -> None:
    """Wait until the controller, which may be busy, lists no job."""

    def none_left() -> bool:
        command = ["squeue", "--noheader"]
        done = subprocess.run(command, env=os.environ | slurm, capture_output=True, text=True, check=False)
        return done.returncode == 0 and not done.stdout.strip()

    until("all jobs have ended", none_left)


def until(what: str, happened: Callable[[], bool]) -> None:
    """Poll until a condition holds."""
    deadline = time.monotonic() + LONGEST
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


@pytest.mark.slow
def test_two_steps_of_a_real_job(project: Project, slurm: dict[str, str]) -> None:
    (project.path / "in").write_text("1")
    said = submit(project, slurm, "#!/bin/bash\nprovio run -- cp in a\nprovio run -- cp a b\n")
    assert said.count("pending in") == 2
    assert project.ancestors("b")["data"] == {"a", "in"}
    rows = project.answer(
        "query", "SELECT ?p ?n { ?r a provio:Run ; provio:jobPartition ?p ; provio:jobNodes ?n }", "--as", "csv"
    )
    assert rows.splitlines()[1:] == [f"tests,{HOST}"] * 2


@pytest.mark.slow
def test_the_environment_has_the_facts_of_a_real_job(project: Project, slurm: dict[str, str]) -> None:
    """scontrol states the script, the output file, the hosts and the time in the queue."""
    submit(project, slurm, "#!/bin/bash\nprovio run -- sleep 1\n")
    found = {
        row["name"]: row["value"]
        for row in json.loads(project.answer("show", "last", "--environment", "--as", "json"))
        if row["layer"] == "job"
    }
    assert found["script"] == str(project.path / "job.sh")
    assert found["output"].startswith(str(project.path / "job-"))
    assert found["allocated hosts"] == HOST
    assert re.fullmatch(r"\d+ s", found["in the queue"])


def test_an_array_of_four(project: Project, slurm: dict[str, str]) -> None:
    (project.path / "in").write_text("1")
    text = project.provio(
        "batch", "slurm", "--array", "1-4", "--campaign", "four", "--", "bash", "-c", "cp in out$SLURM_ARRAY_TASK_ID"
    ).stdout
    submit(project, slurm, text)
    rows = project.answer("query", "SELECT ?i { ?r provio:jobArrayIndex ?i ; provio:campaign 'four' }", "--as", "csv")
    assert sorted(rows.split()[1:], key=int) == [str(number) for number in range(1, 5)]
    assert all(project.ancestors(f"out{number}")["data"] == {"in"} for number in range(1, 5))


@pytest.mark.slow
def test_a_script_gets_a_signal_before_its_time_limit(project: Project, slurm: dict[str, str]) -> None:
    """A minute before the end, or when it is cancelled, its command gets a signal, may finish, and is recorded."""
    script = "trap 'cp in last; exit 9' TERM; touch there; while :; do sleep 0.1; done"
    text = project.provio("batch", "slurm", "--time", "5", "--", "bash", "-c", script).stdout
    (project.path / "in").write_text("1")
    (project.path / "job.sh").write_text(text)
    command, env = ["sbatch", "--parsable", "--output=job.log", "job.sh"], project.env | slurm
    number = subprocess.run(command, cwd=project.path, env=env, capture_output=True, text=True, check=True).stdout
    until("its command is at work", (project.path / "there").exists)
    subprocess.run(["scontrol", "update", f"JobId={number.strip()}", "TimeLimit=1"], env=env, check=True)
    jobs_end(slurm)
    assert "pending in" in (project.path / "job.log").read_text()
    assert project.ancestors("last")["data"] == {"in"}
    assert [run["end"] for run in runs(project)] == ["exit 9"]


@pytest.mark.slow
def test_a_job_that_is_only_submitted_is_joined(project: Project, slurm: dict[str, str]) -> None:
    """The run of `sbatch` has ended long before its job starts: the job is part of it nevertheless."""
    (project.path / "in").write_text("1")
    (project.path / "job.sh").write_text("#!/bin/bash\nwhile [ ! -e go ]; do sleep 0.1; done\ncp in out\ntouch done\n")
    project.env |= slurm
    project.watch("sbatch", "--account=das", "--ntasks=2", "job.sh")
    assert "out" not in project.provio("query", "SELECT ?p { ?f provio:path ?p }", "--as", "tsv").stdout
    (project.path / "go").touch()
    jobs_end(slurm)
    assert (project.path / "done").exists()
    assert project.ancestors("out")["data"] == {"in"}
    assert len(runs(project)) == 1
    assert unseen_jobs(project) == []
    assert project.count("?p a provio:Process ; provio:jobId ?job") >= 2  # the script's shell, and cp
    (job,) = named_jobs(project)
    assert job.pop("jobId").isdigit()
    assert job == {
        "jobNodes": HOST, "jobPartition": "tests", "jobAccount": "das",
        "jobResources": "nodes=1 tasks=2 cpusPerNode=2",
    }  # fmt: skip


def unseen_jobs(project: Project) -> list[str]:
    """Return the process that submitted a job which is not recorded."""
    rows = project.rows("SELECT ?argv { ?g a provio:Gap ; provio:reason ?r ; provio:about ?p . ?p provio:argv ?argv "
                        "FILTER(CONTAINS(?r, 'the job that it submitted')) }")  # fmt: skip
    return [row["argv"] for row in rows]


@pytest.mark.integration
@pytest.mark.parametrize("why", ["another environment", "no run folder"])
def test_a_job_that_cannot_join(project: Project, slurm: dict[str, str], why: str) -> None:
    """It is unchanged, prints nothing more, and the run that submitted it has a gap."""
    project.env |= slurm
    record = project.path / ".provio"
    (project.path / "in").write_text("1")
    (project.path / "job.sh").write_text("#!/bin/bash\ncp in out\n(exit 3)\necho $? > code\n")
    exported = ["--export=NONE"] if why == "another environment" else []
    number = project.watch("sbatch", "--parsable", "--hold", *exported, "--output=job.log", "job.sh").strip()
    if why == "no run folder":
        record.rename(project.path / "away")
    subprocess.run(["scontrol", "release", number], env=project.env, check=True)
    jobs_end(slurm)
    said = [(project.path / name).read_text() for name in ("job.log", "out", "code")]
    if why == "no run folder":
        assert not record.exists()
        (project.path / "away").rename(record)
    assert said == ["", "1", "3\n"]
    assert [argv.split()[0] for argv in unseen_jobs(project)] == ["sbatch"]


@pytest.mark.integration
def test_a_job_that_is_cancelled(project: Project, slurm: dict[str, str]) -> None:
    """It gets a signal, and is killed if it does not end: its records until then are kept, and in answers before that.
    No background merge is started there, with any setting."""
    (project.path / "in").write_text("1")
    (project.path / "job.sh").write_text(
        "#!/bin/bash\nprovio run -- bash -c 'trap \"\" TERM; cp in out; touch there; sleep 100; sleep 100'\n"
    )
    environment = project.env | slurm | {"PROVIO_MERGE": "background"}
    done = subprocess.run(
        ["sbatch", "--parsable", "job.sh"],
        cwd=project.path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    until("its command is at work", (project.path / "there").exists)
    why = project.provio("why", "out")
    assert "cp in out" in why.stdout and "in progress" in why.stderr
    subprocess.run(["scancel", done.stdout.strip()], env=environment, check=True)
    jobs_end(slurm)
    assert mergers(project.path / ".provio") == []
    assert project.ancestors("out")["data"] == {"in"}


def notes(project: Project) -> list[Path]:
    """Return the notes about files that are not collected."""
    return list((project.path / ".provio" / "captured").glob("*/*"))


@pytest.mark.slow
def test_the_files_of_a_job_of_several_tasks_are_collected_at_its_end(
    project: Project, slurm: dict[str, str], tmp_path: Path
) -> None:
    """By its script, on each node; and then its exit code is the command's."""
    project.env["PROVIO_CAPTURE_DIR"] = str(tmp_path)
    (project.path / "in").write_text("1")
    command = "cp in out$SLURM_PROCID; exit 3"
    text = project.provio("batch", "slurm", "--tasks", "4", "--", "bash", "-c", command).stdout
    assert "\nprovio merge --collect --quiet\nexit" in text
    submit(project, slurm, text.replace('exit "$code"', 'ls .provio/captured/*; echo "$code"'))
    assert (project.path / "job-4294967294.log").read_text().splitlines()[-1] == "3"
    assert notes(project) == []
    assert project.ancestors("out3")["data"] == {"in"}
    assert project.count("?rank a provio:Rank") == 4


@pytest.mark.slow
def test_the_files_of_a_cancelled_job_are_collected(project: Project, slurm: dict[str, str], tmp_path: Path) -> None:
    """It gets a signal, and is killed if it does not end."""
    project.env["PROVIO_CAPTURE_DIR"] = str(tmp_path)
    (project.path / "in").write_text("1")
    script = "trap '' TERM; cp in out; touch there; sleep 100; sleep 100"
    (project.path / "job.sh").write_text(project.provio("batch", "slurm", "--", "bash", "-c", script).stdout)
    asked = {"cwd": project.path, "env": project.env | slurm, "capture_output": True, "text": True, "check": True}
    number = subprocess.run(["sbatch", "--parsable", "job.sh"], **asked).stdout.strip()  # type: ignore[call-overload]
    until("its command is at work", (project.path / "there").exists)
    why = project.provio("why", "out")
    assert "cp in out" in why.stdout and "in progress" in why.stderr
    subprocess.run(["scancel", number], env=project.env | slurm, check=True)
    until("it is collected", lambda: not notes(project))
    jobs_end(slurm)
    assert notes(project) == []
    assert project.ancestors("out")["data"] == {"in"}
    assert project.count("?gap a provio:Gap") == 0


@pytest.mark.slow
def test_four_tasks_of_srun(project: Project, slurm: dict[str, str]) -> None:
    """The launcher is recorded: its tasks, which another process starts, are part of its run."""
    for rank in range(4):
        (project.path / f"in{rank}").write_text("1")
    project.env |= slurm
    project.watch("srun", "--overcommit", "--ntasks=4", "bash", "-c", "cp in$SLURM_PROCID out$SLURM_PROCID")
    assert [project.ancestors(f"out{rank}")["data"] for rank in range(4)] == [{f"in{rank}"} for rank in range(4)]
    assert len(runs(project)) == 1


@pytest.mark.slow
def test_each_step_of_a_job_is_a_run(project: Project, slurm: dict[str, str]) -> None:
    """`srun provio run` or `provio run srun`: four ranks of a step are one run, an agent each, and lineage continues in
    the next step."""
    for rank in range(4):
        (project.path / f"in{rank}").write_text("1")
    # --quiet: otherwise a step that waits for the previous one prints that
    start, script = "srun --quiet --overcommit -n 4", "bash -c 'cp {0}$SLURM_PROCID {1}$SLURM_PROCID'\n"
    behind, before = f"{start} provio run -- {script}", f"provio run --quiet -- {start} {script}"
    steps = behind.format("in", "a") + behind.format("a", "b") + before.format("b", "c")
    assert submit(project, slurm, "#!/bin/bash\n" + steps, "--ntasks=4") == ""
    rows = project.rows("SELECT DISTINCT ?run ?rank { ?p provio:partOf ?run ; provio:rank ?rank ; provio:jobId ?job }")
    assert sorted(row["rank"] for row in rows) == sorted("0123" * 3)
    assert len({row["run"] for row in rows}) == len(runs(project)) == 3
    assert project.count("?agent a provio:Rank ; provio:worldSize 4") == 3 * 4
    assert {(job["jobNodes"], job["jobPartition"]) for job in named_jobs(project)} == {(HOST, "tests")}
    assert project.ancestors("c3")["data"] == {"b3", "a3", "in3"}
