"""`record.git_diff`: a checkout with uncommitted changes in, the redacted changes as a fact of the run out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Project

from provio.trace import environment
from provio.trace.redact import Redaction

pytestmark = pytest.mark.integration
GIT = "git -c user.name=a -c user.email=a@b.c"


@pytest.fixture
def checkout(project: Project) -> Project:
    """A checkout with one committed file, and changes that contain a secret."""
    project.sh(f"git init -q .; printf 'a\\nb\\n' > code.py; echo > made; git add code.py made; {GIT} commit -q -m 1")
    project.sh("printf 'a\\nc\\nDB_PASSWORD=hunter2hunter2\\n' > code.py; echo 3 > in")
    project.env["PROVIO_RECORD_GIT_DIFF"] = "true"
    return project


def changes(project: Project) -> list[str]:
    """Return the fact of the last run; no element if there is none."""
    facts = json.loads(project.provio("show", "last", "--environment", "--as", "json").stdout)
    return [fact["value"] for fact in facts if fact["name"] == "uncommitted changes"]


def test_the_changes_at_the_start(checkout: Project, tmp_path: Path) -> None:
    """They are kept as they are before the command, without the secret; a rerun names other ones."""
    checkout.hashed("sh", "-c", "cp in out; echo more > made")
    (text,) = changes(checkout)
    assert text.split("\n", 4)[4] == "@@ -1,2 +1,3 @@\n a\n-b\n+c\n+DB_PASSWORD=REDACTED\n"
    shown = checkout.provio("show", "last", "--environment").stdout
    assert "  uncommitted changes diff --git a/code.py b/code.py\n" in shown
    assert shown.endswith(" +DB_PASSWORD=REDACTED\n")
    message = checkout.provio("rerun", "last", "--in", str(tmp_path / "a")).stderr
    assert "uncommitted changes: other than those of run" in message
    checkout.sh("git checkout -q made")
    message = checkout.provio("rerun", "last", "--in", str(tmp_path / "b"), code=None).stderr
    assert "uncommitted changes" not in message
    for kept in checkout.path.glob(".provio/runs/**/git.diff"):
        assert "hunter2" not in kept.read_text("latin-1")


def test_without_changes_or_a_checkout(checkout: Project) -> None:
    """No changes are a fact; outside a checkout, without the setting or the environment nothing is kept."""
    checkout.sh("git checkout -q code.py")
    checkout.run("cp in out")
    assert changes(checkout) == ["none"]
    checkout.provio("run", "--quiet", "--no-record", "environment", "--", "cp", "in", "out")
    assert changes(checkout) == []
    checkout.env["PROVIO_RECORD_GIT_DIFF"] = "false"
    checkout.run("cp in out")
    assert changes(checkout) == []


def test_a_long_text_is_cut(checkout: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with a whole line and the limit; a folder outside a checkout has none."""
    monkeypatch.setattr(environment, "DIFF_LIMIT", 120)
    diff = environment.git_diff(checkout.path)
    assert diff is not None
    lines = environment.without_secrets(diff, Redaction()).splitlines()
    assert (lines[4:6], lines[-1]) == (["@@ -1,2 +1,3 @@", " a"], "(cut at 120 B)")
    assert environment.git_diff(Path("/")) is None


def test_secrets() -> None:
    """A secret in a changed line and a key of several lines are replaced; bytes that are not UTF-8 stay."""
    key = "\n".join(f"+{line}" for line in ("-----BEGIN RSA PRIVATE KEY-----", "MIIE", "-----END RSA PRIVATE KEY-----"))
    found = environment.without_secrets(f"+token = abc\n{key}\n+API_KEY=abcdefgh1".encode() + b"\n+\xff", Redaction())
    assert "MIIE" not in found
    assert "abcdefgh1" not in found
    assert found.endswith("+API_KEY=REDACTED\n+\udcff")
