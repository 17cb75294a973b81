"""Recognise secrets: the name of an option or setting in, whether its value is secret out; and remove passwords from
URLs.

`interceptors/posix/declared_settings.c` uses the same words (`secret_words.def`).
`provio/trace/redact.py` uses this module.
"""

from __future__ import annotations

from .shared_tables import KEYS_OF, OF_DATA, OWNERS, SURE, TEXT

TYPE_CHECKING = False  # `typing` and `re` are slow to import
if TYPE_CHECKING:
    import re

REDACTED = "REDACTED"
# A word of SURE makes a value secret even if it is a number. A number is no token (`pad_token_id 50256`), but may be a
# password. `key` alone, or after a word of OF_DATA, is a key of data (a sort key, a primary key). `keys` after a word
# of KEYS_OF is secret. Words of OWNERS before `pass` make it a password; a single digit as the value is the number of a
# pass of an encoder.
LONGEST = 64  # bytes; a longer word is not compared
ENDS_SURE, ENDS = ("password", "passwd", "secret"), ("token",)  # of compound words
WORDS = frozenset(SURE + TEXT)
SURE_WORDS = frozenset(SURE)
# Each part has a maximal length: the text may have megabytes, and be made to take long.
URL = r"(//)([^/?#@\s:'\"]{0,256})(:?)([^/?#\s'\"]{0,4096})@"


def words_of(name: str) -> list[str]:
    """Return the words of a name, which are separated by `-`, `_`, `.` or a capital letter."""
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
    """Whether a name is `pass`, or `pass` of an account."""
    if len(words) == 2:
        return words[1] == "pass" and words[0] in OWNERS
    return len(words) == 1 and words[0].endswith("pass") and (words[0] == "pass" or words[0][:-4] in OWNERS)


def is_secret(name: str, value: str = "", number: bool = False) -> bool:
    """Whether a name is that of a secret; if the value is a `number`, only for the words of SURE."""
    words = words_of(name)
    if is_pass(words):
        return len(value) != 1 or not "0" <= value <= "9"
    sure = not SURE_WORDS.isdisjoint(words) or _ends(words, ENDS_SURE)
    if number or sure:
        return sure
    key = len(words) > 1 and words[-1] == "key" and words[-2] not in OF_DATA
    keys = len(words) > 1 and words[-1] == "keys" and words[-2] in KEYS_OF
    return key or keys or not WORDS.isdisjoint(words) or _ends(words, ENDS)


def parts_of(name: str) -> list[str]:
    """Return the keys that the name of a nested setting joins with `.`; a `.` inside a key has a backslash before
    it."""
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
    """Whether the value of a setting must not be recorded: one of the keys in its name is that of a secret."""
    return value != "" and any(is_secret(part, value, number) for part in parts_of(name))


def without_passwords(text: str) -> str:
    """Return a text without the passwords of URLs in it; a user name without a password stays, except in a web URL,
    where it is a token."""
    import re

    return re.sub(URL, _without_password, text)


# In a text: the value after a word for a secret, and tokens by their forms.
ASSIGNED = (
    r"(?i)([\w.-]{0,64}(?:passw|passphrase|secret|token|credential|auth|api[_-]?key)[\w.-]{0,64}[\"']?\s?[=:]\s?[\"']?)"
    r"([^\s\"',;)}\]]{1,4096})"
)
TOKENS = (
    r"\b(?:gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|xox[abp]-|xapp-|sk-|sk_live_|hf_|AIza|ya29\.|GOCSPX-|pypi-|npm_|dapi|"
    r"hvs\.|eyJ)[\w.-]{8,4096}|\bBearer\s[^\s\"']{1,4096}"
)


def masked(text: str) -> str:
    """Return a text of a log without the secrets in it: passwords of addresses, values after words such as `token=`,
    and tokens that have a known form."""
    import re

    return re.sub(TOKENS, REDACTED, re.sub(ASSIGNED, rf"\g<1>{REDACTED}", without_passwords(text)))


def _without_password(match: re.Match[str]) -> str:
    user = match[2] + ":" if match[3] else ""
    web = match.string.endswith(("http:", "https:"), 0, match.start())
    return match[0] if not (match[3] or web) else f"{match[1]}{user}REDACTED@"
