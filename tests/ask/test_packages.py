"""The packages that runs used agree with the package managers, and stay those of the run after an upgrade."""

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from conftest import Project, new_project
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from provio.system.elf import build_id
from provio.system.packages import Installed, Package, of_purl
from provio.trace import package_files
from provio.trace.run_facts import Trace

SCRIPT = "import numpy\nprint(numpy.arange(int(open('count').read())).sum(), file=open('sum', 'w'))\n"


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """A project with a run of sort(1) and one of numpy."""
    project = new_project(tmp_path_factory.mktemp("used"))
    project.sh("seq 3 -1 1 > unsorted; echo 4 > count; cat > add.py <<'END'\n" + SCRIPT + "END")
    project.watch("/usr/bin/sort", "-o", "sorted", "unsorted")
    project.watch(sys.executable, "add.py")
    return project


def rows(project: Project, *arguments: str) -> dict[str, dict[str, Any]]:
    """The rows of `provio packages`, by type and name."""
    found = json.loads(project.answer("packages", *arguments, "--as", "json"))
    return {f"{row['type']} {row['name']}": row for row in found}


def test_a_program_of_debian_is_that_which_dpkg_names(used: Project, needs: Callable[..., None]) -> None:
    """dpkg is the judge of package, version and architecture, readelf of the build id."""
    needs("dpkg-query", "readelf")
    own = subprocess.run(["dpkg", "-S", "/usr/bin/sort"], capture_output=True, text=True, check=True, timeout=60)
    name = own.stdout.partition(":")[0]
    form = "-f=${Version} ${Architecture}"
    stated = subprocess.run(["dpkg-query", "-W", form, name], capture_output=True, text=True, check=True, timeout=60)
    version, architecture = stated.stdout.split()
    row = rows(used, "sorted")[f"deb {name}"]
    assert row["version"] == version
    assert of_purl(str(row["purl"])).qualifiers == (("arch", architecture),)
    notes = subprocess.run(["readelf", "-n", "/usr/bin/sort"], capture_output=True, text=True, check=True, timeout=60)
    assert build_id(b"/usr/bin/sort") == re.findall(r"Build ID: (\w+)", notes.stdout)[0]


def test_a_package_of_python_is_that_which_it_names_itself(used: Project) -> None:
    """importlib.metadata is the judge; the files are the modules that the run imported."""
    row = rows(used, "last")["pypi numpy"]
    assert row["version"] == importlib.metadata.version("numpy")
    assert any(re.search(r"/numpy/(__pycache__/)?__init__\.", one["path"]) for one in row["files"])
    assert "pypi pytest" not in rows(used)
    assert "deb coreutils" not in rows(used, "last")
    assert {"pypi numpy", "deb coreutils"} <= rows(used).keys()


def test_packages_of_a_file_are_those_of_its_makers(used: Project) -> None:
    assert "pypi numpy" in rows(used, "sum")
    assert "pypi numpy" not in rows(used, "sorted")


def test_the_bill_of_materials_is_valid(used: Project) -> None:
    """The validator of CycloneDX accepts it; two documents about the same packages have one serial number."""
    first, second = (used.answer("packages", "--as", "cyclonedx") for _ in range(2))
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(first) is None
    document = json.loads(first)
    assert document["serialNumber"] == json.loads(second)["serialNumber"]
    names = {one.get("purl") for one in document["components"]}
    assert f"pkg:pypi/numpy@{importlib.metadata.version('numpy')}" in names


@pytest.mark.parametrize("form", ["table", "csv", "tsv"])
def test_each_form_has_the_packages(used: Project, form: str) -> None:
    assert importlib.metadata.version("numpy") in used.answer("packages", "last", "--as", form)


def test_a_package_that_was_upgraded_is_still_that_of_the_run(project: Project) -> None:
    """The package is looked up after the run: later the same path belongs to another version."""
    site = project.path / "env/lib/python3/site-packages"
    install(site, "1.0", "A = 1\n")
    (project.path / "use.py").write_text(f"import sys\nsys.path[:0] = [{str(site)!r}]\nimport own_tool\n")
    project.watch(sys.executable, "-B", "use.py")
    assert rows(project, "last")["pypi own-tool"]["present"] is True  # it was not looked up after this run
    project.env["PROVIO_RECORD_PACKAGES"] = "true"
    project.hashed(sys.executable, "-B", "use.py")
    shutil.rmtree(site)
    install(site, "2.0", "A = 22\n")
    row = rows(project, "last")["pypi own-tool"]
    assert (row["version"], row["purl"], row["present"]) == ("1.0", "pkg:pypi/own-tool@1.0", False)
    project.watch(sys.executable, "-B", "use.py")
    assert rows(project, "last")["pypi own-tool"]["version"] == "2.0"
    query = "SELECT ?p ?version { ?v provio:inPackage ?p . ?p a provio:Package ; provio:packageVersion ?version }"
    assert "1.0" in {row["version"] for row in project.rows(query) if "own-tool" in row["p"]}


def install(site: Path, version: str, text: str) -> None:
    """Put a package of one module into a folder, as pip does."""
    facts = site / f"own_tool-{version}.dist-info"
    facts.mkdir(parents=True)
    (site / "own_tool.py").write_text(text)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Own.Tool\nVersion: {version}\n\n")
    (facts / "RECORD").write_text("own_tool.py,sha256=x,6\n")


TREES = {
    "conda": (
        {"conda-meta/zlib-1.3-h1.json": '{"name": "zlib", "version": "1.3", "build": "h1", "subdir": "linux-64", '
         '"channel": "https://conda.anaconda.org/conda-forge/linux-64", "files": ["lib/libz.so.1"]}'},
        "lib/libz.so.1", "pkg:conda/zlib@1.3?build=h1&channel=conda-forge&subdir=linux-64",
    ),
    "spack": (
        {"zlib/.spack/spec.json": '{"spec": {"nodes": [{"name": "zlib", "version": "1.2.13", "hash": "abcd"}]}}'},
        "zlib/lib/libz.so", "pkg:spack/zlib@1.2.13?hash=abcd",
    ),
    "easybuild": (
        {"software/HDF5/1.14.3-gompi-2023b/easybuild/x.eb": ""},
        "software/HDF5/1.14.3-gompi-2023b/lib/libhdf5.so", "pkg:easybuild/HDF5@1.14.3-gompi-2023b",
    ),
    "cran": (
        {"library/dplyr/DESCRIPTION": "Package: dplyr\nVersion: 1.1.4\nRepository: CRAN\n"},
        "library/dplyr/R/dplyr.rdb", "pkg:cran/dplyr@1.1.4?repository=CRAN",
    ),
    "python": (
        {"include/python3.11/patchlevel.h": '#define PY_VERSION      "3.11.7"\n'},
        "lib/python3.11/json/__pycache__/decoder.cpython-311.pyc", "pkg:generic/python@3.11.7",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", TREES)
def test_software_of_other_managers(tmp_path: Path, kind: str) -> None:
    """A file belongs to the package whose records are above it; one next to it belongs to none."""
    files, opened, purl = TREES[kind]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path, other = (bytes(tmp_path / name) for name in (opened, "notes.txt"))
    assert {one: found.purl for one, found in Installed().of([path, other]).items()} == {path: purl}
    assert of_purl(purl).purl == purl


def test_damaged_records_of_managers_are_no_packages(tmp_path: Path) -> None:
    for name in ("conda-meta/a-1.json", ".spack/spec.json", "lib/python3.11/site-packages/a-1.dist-info/METADATA"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(b"\xff{")
    paths = [bytes(tmp_path / name) for name in ("bin/a", "lib/python3.11/site-packages/a.py")]
    assert Installed().of(paths) == {}


@pytest.mark.parametrize("text", ["", "numpy", "pkg:pypi", "http:a/b", "pkg:a/b/c/d@1"])
def test_another_text_is_no_package_url(text: str) -> None:
    with pytest.raises(ValueError, match="no package URL"):
        of_purl(text)


def test_a_hostile_name_in_a_trace_is_no_iri() -> None:
    """It is encoded, or left out: it can neither end the IRI of a package nor add a statement."""
    trace = SimpleNamespace(packages={})
    key = "8:1/1/2/3/4/"
    for number, name in enumerate(("pkg:a/b> <urn:c> <urn:d@1", "pkg:a/b@1?x>y=<z>", "no package", "pkg:a\n/b")):
        package_files.add(cast(Trace, trace), {"urn:n": {"a": "Package", "name": name, "value": f"{number}:{key}"}})
    purls = [member.purl for member in trace.packages.values()]
    assert len(purls) == 3
    assert not any(re.search(r"[<>\s]", purl) for purl in purls)
    assert all(of_purl(purl).purl == purl for purl in purls)


def test_a_package_url_keeps_every_name() -> None:
    package = Package("conda", "a b/ü", "1:2+3~rc", "", (("build", "x&y=?"),))
    assert of_purl(package.purl) == package
    assert re.fullmatch(r"[!-~]+", package.purl)


def test_wrong_calls(used: Project) -> None:
    assert "no run, task or file" in used.provio("packages", "nothing", code=3).stderr
    assert "not allowed" in used.provio("packages", "--as", "xml", code=2).stderr
