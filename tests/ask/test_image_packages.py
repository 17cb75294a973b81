"""Container images as packages: names, paths and digests in, package URLs out."""

from __future__ import annotations

import json

import pytest

from provio.ask import images
from provio.ask.packages import Used
from provio.exchange import cyclonedx

DIGEST = "sha256:" + "ab" * 32
IMAGES = {
    ("docker://debian:12", "", DIGEST): f"pkg:oci/debian@sha256%3A{'ab' * 32}?tag=12",
    (f"ghcr.io/a/B@{DIGEST}", "", ""): f"pkg:oci/b@sha256%3A{'ab' * 32}?repository_url=ghcr.io%2Fa%2FB",
    ("debian:12", "", "0123abc"): "pkg:docker/debian@12",
    ("quay.io/a/b", "", ""): "pkg:docker/b?repository_url=quay.io%2Fa",
    ("x.sif", "/data/x.sif", DIGEST): f"pkg:generic/x.sif?checksum=sha256%3A{'ab' * 32}",
    ("./root", "/data/root", ""): "pkg:generic/root",
}


@pytest.mark.parametrize("facts", IMAGES)
def test_package_urls(facts: tuple[str, str, str]) -> None:
    """The digest of a registry is a version; that of a file is only a checksum."""
    assert images.package(*facts).purl == IMAGES[facts]


def test_the_bill_of_materials() -> None:
    """An image is a component of the type `container`, with its row."""
    one = Used(images.package("debian:12", "", DIGEST), is_image=True)
    assert one.row()[:3] == ["container", "debian", DIGEST]
    (component,) = json.loads(cyclonedx.document([one], "x"))["components"]
    assert (component["type"], component["purl"]) == ("container", f"pkg:oci/debian@sha256%3A{'ab' * 32}?tag=12")
