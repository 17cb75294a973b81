"""The types of the settings that describe a project (`[project]`): people with their ORCID, a licence, identifiers.

Identifiers are checked for their form; provio registers and resolves none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from provio.settings.types import Kind, both, is_line, texts, toml

ORCID = re.compile(r"(?:https?://orcid\.org/)?((?:\d{4}-){3}\d{3}[\dX])")
# The form of each kind of identifier: a DOI (ISO 26324), an ARK, a minid of identifiers.org.
FORMS = {
    "DOI": re.compile(r"(?:(?:https?://(?:dx\.)?doi\.org/)|doi:)?(10\.\d{4,9}(?:\.\d+)*/[!-~]+)", re.IGNORECASE),
    "ARK": re.compile(r"(?:https?://[^/]+/)?(ark:/?\d{5,9}/[!-~]+)"),
    "minid": re.compile(r"(?:https?://identifiers\.org/)?(minid:[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)?)"),
}
LICENCE = re.compile(r"https?://[!-~]+|[A-Za-z0-9][A-Za-z0-9.+-]*")
EXAMPLES = "a DOI (10.5281/zenodo.1234), an ARK (ark:/57799/b9abc) or a minid (minid:b9abc)"


def orcid_of(text: str) -> str:
    """Return an ORCID as `0000-0002-1825-0097`; raises ValueError for another text, or a wrong last digit (ISO 7064,
    MOD 11-2)."""
    found = ORCID.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no ORCID (allowed: 0000-0002-1825-0097, or an empty text)")
    digits = found[1].replace("-", "")
    total = 0
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    if digits[-1] != "0123456789X"[(12 - total % 11) % 11]:
        raise ValueError(f"{text!r} is no ORCID: its last digit does not fit the others, so a digit is wrong")
    return found[1]


def identifier_of(text: str) -> tuple[str, str]:
    """Return the kind and the short form of an identifier: `DOI`, `10.5281/zenodo.1234`; raises ValueError."""
    for kind, form in FORMS.items():
        if found := form.fullmatch(text.strip()):
            return kind, found[1]
    raise ValueError(f"{text!r} is not allowed (allowed: {EXAMPLES})")


def _is_identifier(text: str) -> bool:
    try:
        identifier_of(text)
    except ValueError:
        return False
    return True


def _people(value: object) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(one, str) for one in value.values()):
        allowed = 'a table such as {"Ada Lovelace" = "0000-0002-1825-0097"}'
        raise ValueError(f"{value!r} is not allowed (allowed: {allowed})")
    for name in value:
        if not name.strip() or not is_line(name):
            raise ValueError(f"{name!r} is no name")
    return MappingProxyType({name.strip(): orcid_of(orcid) if orcid.strip() else "" for name, orcid in value.items()})


def _licence(value: object) -> str:
    if value == "" or (isinstance(value, str) and LICENCE.fullmatch(value)):
        return value
    raise ValueError(f"{value!r} is not allowed (allowed: an SPDX identifier such as CC-BY-4.0, or a URL)")


PEOPLE = Kind("a table of names, each with an ORCID or an empty text", _people, toml, both, True)
LICENCES = Kind("an SPDX identifier such as CC-BY-4.0, or a URL", _licence)
LINES = Kind(
    "a list of texts (in a variable with `;` between)", texts("a list of texts", is_line, str.strip),
    lambda text: [part for part in text.split(";") if part.strip()],
)  # fmt: skip
IDENTIFIERS = Kind(
    f"a list of identifiers, each {EXAMPLES} (in a variable with `,` between)",
    texts(f"a list, each {EXAMPLES}", _is_identifier, str.strip),
    lambda text: [part for part in text.split(",") if part.strip()],
)
