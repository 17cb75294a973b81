"""Secrets are not stored: neither in the files of `provio run`, nor in the store, nor in an answer."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Project

from provio.base import turtle
from provio.exchange import formats
from provio.trace.redact import REDACTED, Redaction
from provio.trace.secret_forms import ASSIGNMENTS, SURE, TOKENS, Form

SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        (["curl", f"https://ada:{SECRET}@host/x"], ["curl", f"https://ada:{REDACTED}@host/x"]),
        (["curl", f"https://{SECRET}@host/x"], ["curl", f"https://{REDACTED}@host/x"]),
        (["curl", f"https://ada:a@{SECRET}@host"], ["curl", f"https://ada:{REDACTED}@host"]),
        (["mount", f"//ada:{SECRET}@host/share"], ["mount", f"//ada:{REDACTED}@host/share"]),
        (["git", "clone", "ssh://git@host/x"], ["git", "clone", "ssh://git@host/x"]),
        (["x", "--password", SECRET, "in"], ["x", "--password", REDACTED, "in"]),
        (["x", "--pass", SECRET, "in"], ["x", "--pass", REDACTED, "in"]),
        (["x", f"--db-pass={SECRET}", "in"], ["x", f"--db-pass={REDACTED}", "in"]),
        (["sh", "-c", f"x --userPass {SECRET} in"], ["sh", "-c", f"x --userPass {REDACTED} in"]),
        (["x264", "--pass", "2", "in"], ["x264", "--pass", "2", "in"]),
        (["ffmpeg", "-pass", "1", "-i", "in"], ["ffmpeg", "-pass", "1", "-i", "in"]),
        (["x", "--two-pass", "in"], ["x", "--two-pass", "in"]),
        (["x", f"--api-key={SECRET}"], ["x", f"--api-key={REDACTED}"]),
        (["x", f"--authToken={SECRET}"], ["x", f"--authToken={REDACTED}"]),
        (["sort", "--key=2", "-k", "2"], ["sort", "--key=2", "-k", "2"]),
        (["x", "--max-tokens=3", "--tokenizer", "bert"], ["x", "--max-tokens=3", "--tokenizer", "bert"]),
        (["x", "-H", f"Authorization: Bearer {SECRET}"], ["x", "-H", f"Authorization: {REDACTED}"]),
        (["env", f"DB_PASSWORD={SECRET}", "x"], ["env", f"DB_PASSWORD={REDACTED}", "x"]),
        (["env", f"DB_PASS={SECRET}", f"MYSQL_PWD={SECRET}"], ["env", f"DB_PASS={REDACTED}", f"MYSQL_PWD={REDACTED}"]),
        (["env", "COMPASS=1", "PASSES=2"], ["env", "COMPASS=1", "PASSES=2"]),
        (["java", f"-Dpassword={SECRET}", "-Dname=x"], ["java", f"-Dpassword={REDACTED}", "-Dname=x"]),
        (["cmake", f"-DTOKEN={SECRET}", "-DCMAKE_X=1"], ["cmake", f"-DTOKEN={REDACTED}", "-DCMAKE_X=1"]),
        (["sh", "-c", f"A_TOKEN={SECRET} x; echo y"], ["sh", "-c", f"A_TOKEN={REDACTED} x; echo y"]),
        (["sh", "-c", f"export A_TOKEN='{SECRET} x'; y"], ["sh", "-c", f"export A_TOKEN={REDACTED}; y"]),
        (["sh", "-c", f"x --password {SECRET} --n 3; y"], ["sh", "-c", f"x --password {REDACTED} --n 3; y"]),
        (["curl", "-u", f"ada:{SECRET}", "u"], ["curl", "-u", f"ada:{REDACTED}", "u"]),
        (["/usr/bin/curl", f"-sSuada:{SECRET}"], ["/usr/bin/curl", f"-sSuada:{REDACTED}"]),
        (["curl", f"--proxy-user=a:{SECRET}", "-u", "ada"], ["curl", f"--proxy-user=a:{REDACTED}", "-u", "ada"]),
        (["curl", "-b", f"sid={SECRET}", "-o", "u:v"], ["curl", "-b", f"sid={REDACTED}", "-o", "u:v"]),
        (["sudo", "mysql", "-uroot", f"-p{SECRET}", "db"], ["sudo", "mysql", "-uroot", f"-p{REDACTED}", "db"]),
        (["mysql", "-p", "db", "--port=1"], ["mysql", "-p", "db", "--port=1"]),
        (["sshpass", "-p", SECRET, "ssh", "-p", "22", "h"], ["sshpass", "-p", REDACTED, "ssh", "-p", "22", "h"]),
        (["mkdir", "-p", "out"], ["mkdir", "-p", "out"]),
        (["docker", "run", "-p", "80:80", "x"], ["docker", "run", "-p", "80:80", "x"]),
        (["docker", "login", "-u", "a", "-p", SECRET], ["docker", "login", "-u", "a", "-p", REDACTED]),
        (["smbclient", "-U", f"ada%{SECRET}", "//h/s"], ["smbclient", "-U", f"ada%{REDACTED}", "//h/s"]),
        (["7z", "a", f"-p{SECRET}", "x.7z", "in"], ["7z", "a", f"-p{REDACTED}", "x.7z", "in"]),
        (["xfreerdp", "/u:a", f"/p:{SECRET}"], ["xfreerdp", "/u:a", f"/p:{REDACTED}"]),
        (["openssl", "rsa", "-passin", f"pass:{SECRET}"], ["openssl", "rsa", "-passin", f"pass:{REDACTED}"]),
        (["sh", "-c", f"cd x && curl -u 'ada:{SECRET}' u"], ["sh", "-c", f"cd x && curl -u 'ada:{REDACTED}' u"]),
        (["sh", "-c", f"x|mysql -p{SECRET}; mkdir -p a"], ["sh", "-c", f"x|mysql -p{REDACTED}; mkdir -p a"]),
        (["wget", f"http://h/x?a=1&api_key={SECRET}&b=2"], ["wget", f"http://h/x?a=1&api_key={REDACTED}&b=2"]),
        (["mount", "-o", f"user=a,password={SECRET},ro"], ["mount", "-o", f"user=a,password={REDACTED},ro"]),
        (["psql", f"host=h password={SECRET}"], ["psql", f"host=h password={REDACTED}"]),
        (["echo", "a@b", "x=1", "", "mail:ada@host"], ["echo", "a@b", "x=1", "", "mail:ada@host"]),
    ],
)
def test_a_command_line_keeps_its_shape_and_loses_its_secrets(command: list[str], kept: list[str]) -> None:
    """Passwords of addresses, values of options and variables of secret names, headers; nothing else."""
    assert Redaction().arguments(map(str.encode, command)) == list(map(str.encode, kept))


TAKE_SECRETS = """
sshpass -p {} ssh h | sshpass -p{} ssh h | mysql -p{} db | mysql --password={} | mysqladmin -u root password {}
mysqldump -uroot -p{} db | mariadb-backup --backup -p{} | psql postgres://u:{}@h/db
pg_dump postgresql://u:{}@h:5432/db | redis-cli -a {} | redis-cli --pass {} | redis-cli -u redis://u:{}@h/0
mongosh -u a -p {} | cqlsh -u a -p {} h | curl -u a:{} u | curl --user a:{} u | curl -U a:{} u
curl --tlspassword {} u | curl -x http://a:{}@h u | curl ftp://a:{}@h/x | wget --password={} u
wget --http-password {} u | wget --ftp-password={} u | wget http://a:{}@h/x | openssl rsa -in k -passin pass:{}
openssl enc -aes-256-cbc -k {} | openssl req -passout pass:{} | openssl s_client -psk {}
openssl dgst -mac HMAC -macopt hexkey:{} | keytool -list -storepass {} -keypass {} | jarsigner -storepass {} x.jar
docker login -u a -p {} | docker login -p{} | podman login --password {} | az login -u a -p {} | oc login -u a -p {}
kubectl create secret generic s --from-literal=password={} | kubectl create secret generic s --from-literal word={}
zip -P {} x.zip in | unzip -P {} x.zip | 7z x -p{} x.7z | rar a -hp{} x.rar in | qpdf --password={} a b
pdftotext -upw {} a | pdftk a input_pw {} output b | ccrypt -K {} x | steghide extract -sf x -p {}
gpg --passphrase {} -d x | ssh-keygen -t ed25519 -N {} -f k | ssh-keygen -p -P {} -N {} -f k | plink -pw {} h
pk12util -i x -W {} | twine upload -p {} x | ldapsearch -x -w {} | ldappasswd -a {} -s {} | slappasswd -s {}
kadmin -w {} | smbclient //h/s -U a%{} | winexe -U d/a%{} //h | mosquitto_pub -u a -P {} -t x
ipmitool -U a -P {} sol | sqlcmd -U a -P {} | snmpget -A {} -X {} h | nmcli dev wifi c x password {} | swaks -ap {}
sendemail -xp {} | dig -y hmac-sha256:{} x | etcdctl --user root:{} get | useradd -p {} a | lftp -u a,{} h
svn --password {} co u | xfreerdp /v:h /p:{} | dotnet nuget push x -k {} | poetry publish -p {} | http -a a:{} u
"""
TAKE_NONE = """
mkdir -p a | cp -p a b | ssh -p 22 h | docker run -p 80:80 x | ldapsearch -s sub -a never | openssl rsa -in k
zip -r x a | nmcli dev wifi list | pdftotext -f 1 a b | mysqldump -P 3306 db | keytool -list -alias a
kubectl get pods -n secret | ssh-keygen -t rsa -b 4096 | mosquitto_sub -p 1883 -t x | poetry install -P x
oc get pods -p x | mysql password
"""


def test_secrets_of_known_programs_are_redacted() -> None:
    """One command in each cell, `{}` for its secret: as a command line, and as a script."""
    for text in filter(None, re.split(r" \| |\n", TAKE_SECRETS + TAKE_NONE)):
        words, kept = text.replace("{}", SECRET), text.replace("{}", REDACTED)
        for command, shown in ((words.split(), kept.split()), (["sh", "-c", words], ["sh", "-c", kept])):
            assert Redaction().arguments(map(str.encode, command)) == list(map(str.encode, shown)), text


@pytest.mark.parametrize("form", [*TOKENS, *ASSIGNMENTS], ids=lambda form: form.shown)
def test_each_form_of_the_table_is_redacted(form: Form) -> None:
    """Its examples of secrets, in a text and by its own row alone; the texts that look similar stay."""
    for example in form.hidden:
        text, shown = example.replace("{}", form.sample), example.replace("{}", REDACTED)
        assert (Redaction().text(text), Redaction()._replaced(form, text)) == (shown, shown), text
    for text in form.kept:
        assert Redaction().text(text) == text


def test_the_page_lists_the_forms_of_the_table() -> None:
    """In the same order, assignments before tokens."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")
    lists = re.split("Assignments to such names|Tokens and keys, by their form", page)[1:]
    shown = [re.findall("(?m)^- (.*)$", part.split("\n\n")[1]) for part in lists]
    assert shown == [[form.shown for form in forms] for forms in (ASSIGNMENTS, TOKENS)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r'{"password": "a\"hunter2"}', '{"password": "REDACTED"}'),
        (r'{"password": "hunter2\\"} x', '{"password": "REDACTED"} x'),
        (r'"{\"token\": \"a\\\"hunter2\"}"', r'"{\"token\": \"REDACTED\"}"'),
        ("password: 'hunter2", "password: 'REDACTED"),
        (
            "def f(password: str, token: str | None = None): pass",
            "def f(password: str, token: str | None = None): pass",
        ),
        ('    token: str = "hunter2"\n    n: int', "    token: REDACTED\n    n: int"),
        ("x = \"import os; os.environ['API_KEY']='hunter2'\"", "x = \"import os; os.environ['API_KEY']='REDACTED'\""),
        ("the key: a, tokens: 3, author: Ada", "the key: a, tokens: 3, author: Ada"),
    ],
)
def test_quotes_and_names_in_texts(text: str, shown: str) -> None:
    """Quotes inside a value do not end it; other words that look like names of secrets stay."""
    assert Redaction().text(text) == shown


@pytest.mark.slow
@pytest.mark.integration
def test_each_form_takes_linear_time() -> None:
    """Parts of its examples, repeated to 300 KB: a pattern that takes quadratic time would need minutes."""
    code = """
import resource
from provio.trace.redact import Redaction
from provio.trace.secret_forms import ASSIGNMENTS, TOKENS
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
for form in (*TOKENS, *ASSIGNMENTS):
    for text in {example.replace("{}", form.sample) for example in (*form.hidden[:2], *form.kept[:1])}:
        for piece in {text[: len(text) // 2 + 1], text[:-1]}:
            Redaction()._replaced(form, piece * (300_000 // len(piece)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_bytes_that_are_no_text_stay() -> None:
    """A name that is not UTF-8 is unchanged."""
    assert Redaction().arguments([b"x", b"\xff=\xfe@", b"--token=\xff"]) == [b"x", b"\xff=\xfe@", b"--token=REDACTED"]


def test_settings_add_and_remove_secret_names() -> None:
    """`redact.add`, overridden by `redact.keep`; globs of names, case-insensitive."""
    found = Redaction(add=("*_pin", "plain"), keep=("monkey*", "plain"))
    values = {name: found.variable(name, "v") for name in ("CARD_PIN", "PLAIN", "MONKEY_ISLAND", "A_KEY", "HOME")}
    assert values == {"CARD_PIN": REDACTED, "PLAIN": "v", "MONKEY_ISLAND": "v", "A_KEY": REDACTED, "HOME": "v"}


NESTED_SECRETS = [
    "tokens.prod", "api.key", "api.key.prod", "keys.api.key", "session", "user.session", "password2", "pin", "card_pin",
    "user_pw", "auth.0", "db.pass", "db_pass2", "secret.any.thing", "passwords.0", "cookies", "api_key2", "apiKeys.x",
    "jwt", "headers.Authorization", "[0].token", "Token1", "storage.access.keys",
]  # fmt: skip
NO_SECRETS = [
    "lr", "key", "sort.key", "max_tokens", "tokenizer", "pinned", "opinion", "spin", "session_id", "n_tokens",
    "model.layers.0.width", "primary.key", "monkey.island", "pin_memory", "pw_cutoff", "keys.0", "author", "",
]  # fmt: skip


def test_names_of_nested_settings() -> None:
    """A secret's word in any part of the name, in two parts together, as a plural, with a number."""
    found = Redaction()
    assert [name for name in NESTED_SECRETS if found.setting(name, "hunter2") != REDACTED] == []
    assert [name for name in NO_SECRETS if found.setting(name, "3" * 2) != "33"] == []
    numbers = ["tokens.prod", "n_tokens", "session", "pw", "token2", "api.key"]
    assert [name for name in numbers if found.setting(name, "12", number=True) != "12"] == []
    assert [name for name in ("pin", "password2", "user_pw") if found.setting(name, "12", True) != REDACTED] == []
    kept = Redaction(keep=("api_key", "pin", "tokens"))
    assert [name for name in ("api.key", "pin", "tokens.x") if kept.setting(name, "v") != "v"] == []


@pytest.mark.integration
@pytest.mark.parametrize("name", ["config.json", "config.yaml", "config.toml"])
def test_secrets_in_a_parameter_file_are_not_recorded(project: Project, name: str) -> None:
    """Neither in `.provio` nor in an answer."""
    names = ["lr", *(one for one in NESTED_SECRETS if "[" not in one and ".0" not in one)]
    if name.endswith("toml"):
        lines = [f'x{number}.{one} = "hunter2x{number}"' for number, one in enumerate(names)]
    else:
        lines = [json.dumps({f"x{number}": _nested(one, f"hunter2x{number}") for number, one in enumerate(names)})]
    if name.endswith("yaml"):
        pytest.importorskip("yaml")
    (project.path / name).write_text("\n".join(lines), encoding="utf-8")
    project.provio("run", "--quiet", "--", "cat", name)
    json_too = [["params", "last"], ["show", "last"], ["lineage", name]]
    answers = [["export", "--as", "ttl"], *json_too, *([*answer, "--as", "json"] for answer in json_too)]
    texts = [project.provio(*answer).stdout for answer in answers]
    texts += [path.read_bytes().decode("latin-1") for path in project.path.glob(".provio/**/*") if path.is_file()]
    found = {match[0] for text in texts for match in re.finditer("hunter2x[0-9]+", text)}
    assert found == {"hunter2x0"}  # of `lr`
    assert "x1.tokens.prod" in texts[0]


def _nested(name: str, value: str) -> dict[str, Any]:
    first, _, rest = name.partition(".")
    return {first: _nested(rest, value) if rest else value}


@pytest.mark.integration
def test_a_projects_file_cannot_keep_secrets(project: Project) -> None:
    """It may come with a checkout, from a stranger; the user's own file and the environment can."""
    (project.path / "provio.toml").write_text('[redact]\nkeep = ["*"]\n', encoding="utf-8")
    done = project.provio("run", "--", "/bin/echo", f"--password={SECRET}")
    assert "redact.keep: is not allowed in a project's file" in done.stderr
    own = {**project.env, "PROVIO_REDACT_KEEP": "password"}
    (project.path / "provio.toml").unlink()
    texts = [path.read_text(encoding="utf-8") for path in project.path.glob(".provio/runs/*/run.ttl")]
    assert [SECRET in text for text in texts] == [False]
    project.provio("run", "--quiet", "--", "/bin/echo", f"--password={SECRET}", env=own)
    assert sum(SECRET in path.read_text() for path in project.path.glob(".provio/runs/*/run.ttl")) == 1


PLANTED = [form.hidden[0].replace("{}", form.sample) for form in (*TOKENS, *ASSIGNMENTS)]
SAMPLES = [SECRET, *{form.sample for form in (*TOKENS, *ASSIGNMENTS) if form.judge != SURE}]
# A program with the planted texts in its arguments, those of its children, its Tasks and its declarations.
DECLARES = """
import os, subprocess, sys
import provio, provio.interceptors.python.tasks
password = "hunter2"; os.environ['API_KEY'] = 'hunter2'
for text in sys.argv[1:]:
    subprocess.run(["/bin/echo", text], stdout=subprocess.DEVNULL)
    subprocess.run(["/bin/echo", "unobserved", text], env={}, stdout=subprocess.DEVNULL)
text = chr(10).join(sys.argv[1:])
with provio.activity(text, text=text):
    open("made", "w").write("x")
number = provio.interceptors.python.tasks.begin(text, "cell", text)
provio.interceptors.python.tasks.end(number)
provio.configuration({"text": text, "each": sys.argv[1:]}, name=text)
provio.generated(provio.entity(text, identifier=text, text=text))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """A project with a run that has secrets in its command line and environment, recorded with a given umask."""
    folder = tmp_path_factory.mktemp("redacted")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PROVIO", "LD_PRELOAD", "XDG_"))}
    names = ("SLURM_JWT_TOKEN", "PBS_PASSWORD", "OMPI_COMM_WORLD_SESSION_KEY", "SLURM_CARD")
    env |= {
        "HOME": str(folder),
        "PROVIO_MERGE": "wait",
        **dict.fromkeys(names, SECRET),
        "EBROOTX": f"https://ada:{SECRET}@host/x",
        "SLURM_PLANTED": "\n".join(PLANTED),
    }
    (folder / "provio.toml").write_text('[redact]\nadd = ["*_CARD", "card"]\n', encoding="utf-8")
    project = Project(folder, env)
    script = f"export API_TOKEN={SECRET}; cat provio.toml > out; /bin/echo --password {SECRET} https://a:{SECRET}@h"
    done = project.provio("run", "--", "bash", "-c", script, preexec_fn=lambda: os.umask(0))
    assert SECRET in done.stdout  # the command itself gets the secret
    project.provio("run", "--", "/bin/echo", f"--card={SECRET}")
    project.provio("run", "--detail=call", "--", sys.executable, "-c", DECLARES, *PLANTED)
    return project


@pytest.mark.integration
def test_the_files_of_provio_run_have_no_secret(recorded: Project) -> None:
    """The names are there, with REDACTED as their value."""
    texts = [file.read_text(encoding="utf-8") for file in recorded.path.glob(".provio/runs/*/run.ttl")]
    assert len(texts) == 3
    for text in texts:
        assert not [sample for sample in SAMPLES if sample in text or turtle.literal(sample)[1:-1] in text]
        for name in ("SLURM_JWT_TOKEN", "PBS_PASSWORD", "OMPI_COMM_WORLD_SESSION_KEY", "SLURM_CARD"):
            assert f':name "{name}" ; :value "{REDACTED}"' in text
        assert f':value "https://ada:{REDACTED}@host/x"' in text


@pytest.mark.integration
def test_no_answer_holds_a_secret(recorded: Project) -> None:
    """The command lines of processes are redacted by the merge."""
    exports = [["export", "last", "--as", form] for form in formats.names() if not formats.load(form).FOLDER]
    questions = [["runs"], ["show", "last"], ["lineage", "out", "--all"], ["why", "made"], ["lineage", "made", "--all"]]
    questions += [["runs", "--as", "json"], ["show", "last", "--as", "json"], ["query", "SELECT * { ?s ?p ?o }"]]
    for question in [*exports, *questions]:
        done = recorded.provio(*question, code=None)
        assert done.returncode == 0 or (question[0] == "export" and "REDACTED" in done.stderr), done.stderr
        text = done.stdout + done.stderr
        assert not [sample for sample in SAMPLES if sample in text or turtle.literal(sample)[1:-1] in text], question
    for form in (form for form in formats.names() if formats.load(form).FOLDER):
        recorded.provio("export", "last", "--as", form, "--anyway", "-o", form)
        for file in (recorded.path / form).rglob("*"):
            content = file.read_text(errors="replace") if file.is_file() else ""
            assert not [sample for sample in SAMPLES if sample in content], file
    shown = recorded.rows("SELECT DISTINCT ?argv { ?p a provio:Process ; provio:argv ?argv }")
    assert any("API_TOKEN=REDACTED" in row["argv"] for row in shown)
    assert any(row["argv"] == "/bin/echo --password REDACTED https://a:REDACTED@h" for row in shown)


def test_only_the_owner_can_read_records_with_any_umask(recorded: Project) -> None:
    """Folders 0700, files 0600: the trace has the unredacted arguments of programs."""
    for path in (recorded.path / ".provio").rglob("*"):
        mode = os.lstat(path).st_mode
        if not stat.S_ISLNK(mode):
            assert stat.S_IMODE(mode) & 0o077 == 0, path


@pytest.mark.parametrize(
    "text",
    [
        *("//" + "a" * 300_000 + " @", "x-" * 150_000 + "=", "-a" + " " * 300_000 + "=", "A=\"'" * 99_999),
        *("curl -u \"'" * 60_000, "curl '" + "-u'" * 99_999 + '"', "?" + "a" * 300_000 + "=", "curl " * 99_999),
    ],
)
@pytest.mark.integration
def test_a_hostile_text_takes_little_time(text: str) -> None:
    """A pattern with backtracking would take minutes, above the test's time limit."""
    code = f"from provio.trace.redact import Redaction; Redaction().arguments([{text.encode()!r}])"
    script = f"import resource as r; r.setrlimit(r.RLIMIT_CPU, (20, 20)); {code}"
    done = subprocess.run([sys.executable, "-"], input=script.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
