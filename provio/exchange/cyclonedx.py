"""A software bill of materials in CycloneDX 1.6 (ECMA-424). In: packages. Out: a JSON document."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from provio import __version__
from provio.ask.packages import NONE, Used, origin
from provio.base.text import printable

NAMESPACE = uuid.UUID("6f7b0c52-5f0e-4d43-9d0a-5b7c6f2f6a11")  # of the serial numbers of documents


def document(found: Sequence[Used], subject: str) -> str:
    """Return the document about the packages that a subject used. Equal packages give an equal serial number."""
    components = [_component(one) for one in found]
    serial = uuid.uuid5(NAMESPACE, json.dumps([subject, components], sort_keys=True, ensure_ascii=True))
    return json.dumps({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": [{"type": "application", "name": "provio", "version": __version__}]},
            "component": {"type": "application", "bom-ref": "subject", "name": printable(subject)},
        },
        "components": components,
        "dependencies": [{"ref": "subject", "dependsOn": [one["bom-ref"] for one in components]}],
    }, indent=2) + "\n"  # fmt: skip


def _component(one: Used) -> dict[str, Any]:
    """Return a package, or the software of a folder without a package, with the files that were opened."""
    package, is_package = one.package, one.package.kind != NONE
    name = printable(package.name)
    found: dict[str, Any] = {"type": "file", "bom-ref": f"folder:{name}", "name": name}
    if is_package:
        kind = "container" if one.is_image else "library"
        found = {"type": kind, "bom-ref": package.purl, "name": name, "version": package.version}
        found["purl"] = package.purl
    if is_package and origin(package):
        found["publisher"] = printable(origin(package))
    found["evidence"] = {"occurrences": [{"location": printable(path)} for path in sorted(one.files)]}
    ids = sorted({own for own in one.files.values() if own})
    if ids:
        found["properties"] = [{"name": "provio:buildId", "value": own} for own in ids]
    return found
