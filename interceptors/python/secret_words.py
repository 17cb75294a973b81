"""What is a secret by its name: the name of an option or of a setting in, whether its value is to be kept out, out.

`interceptors/posix/secret.c` goes by the same words.
"""

from __future__ import annotations

REDACTED = "REDACTED"
# A number is no token (`pad_token_id 50256`), but may be a password.
SURE = frozenset(
    "secret secrets password passwords passwd pwd passphrase passphrases credential credentials apikey apikeys".split()
)
LONGEST = 64  # bytes of a word; a longer one is none
ENDS_SURE, ENDS = ("password", "passwd", "secret"), ("token",)  # of a word that something is joined with
WORDS = SURE | frozenset("token auth authorization bearer cookie".split())
# `key` alone is what one sorts by, and so is one of these.
OF_DATA = frozenset(
    "column dict feature foreign group hash index join lookup map order partition primary row sort".split()
)
KEYS_OF = frozenset("access api private secret ssh".split())  # whose `keys` are secrets
# `pass` and its like; one digit is which pass of an encoder it is.
OWNERS = frozenset("admin cert db database ftp http key login proxy root smtp user".split())


def words_of(name: str) -> list[str]:
    """Return the words of a name, as they are joined by `-`, `_` or `.`, or each begun by a capital."""
    parted, before = [], ""
    for letter in name:
        if "a" <= before <= "z" and "A" <= letter <= "Z":
            parted.append(" ")
        parted.append(" " if letter in "-_.\\" else letter.lower() if letter.isascii() else letter)
        before = letter
    return [word for word in "".join(parted).split(" ") if word]


def _ends(words: list[str], ends: tuple[str, ...]) -> bool:
    return any(word.endswith(ends) and len(word.encode("utf-8", "surrogatepass")) <= LONGEST for word in words)


def is_pass(words: list[str]) -> bool:
    """Whether it is a `pass`, or that of something that has one."""
    if len(words) == 2:
        return words[1] == "pass" and words[0] in OWNERS
    return len(words) == 1 and words[0].endswith("pass") and (words[0] == "pass" or words[0][:-4] in OWNERS)


def is_secret(name: str, value: str = "", number: bool = False) -> bool:
    """Whether a name is that of a secret; of a value that is a `number`, only where it surely is."""
    words = words_of(name)
    if is_pass(words):
        return len(value) != 1 or not "0" <= value <= "9"
    sure = not SURE.isdisjoint(words) or _ends(words, ENDS_SURE)
    if number or sure:
        return sure
    key = len(words) > 1 and words[-1] == "key" and words[-2] not in OF_DATA
    keys = len(words) > 1 and words[-1] == "keys" and words[-2] in KEYS_OF
    return key or keys or not WORDS.isdisjoint(words) or _ends(words, ENDS)


def parts_of(name: str) -> list[str]:
    """Return the names that a nested setting's is joined of: `.` within one has a backslash before it."""
    parts, at = [""], 0
    while at < len(name):
        if name[at] == "\\":
            parts[-1] += name[at : at + 2]
            at += 1
        elif name[at] == ".":
            parts.append("")
        else:
            parts[-1] += name[at]
        at += 1
    return parts


def hides(name: str, value: str, number: bool = False) -> bool:
    """Whether the value of a setting is to be kept out: one of the names that its name is joined of is a secret's."""
    return value != "" and any(is_secret(part, value, number) for part in parts_of(name))
