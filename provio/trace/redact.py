"""Replaces secrets in names, values and command lines by `REDACTED`.

A value is a secret because of its name (`*TOKEN*`, `*PASSWORD*` …), or because it is the password in an address
(`https://ada:secret@host`). The name stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from provio.base import turtle
from provio.base.records import frozen, pattern
from provio.interceptors.python import secret_words
from provio.interceptors.python.secret_words import is_secret, parts_of
from provio.trace.values import TEXT, Value

if TYPE_CHECKING:
    from provio.trace.run_facts import Trace


# Options of known programs that take a secret though their names do not show it.

REDACTED = "REDACTED"


@frozen
class Shape:
    """How programs take a secret: as the value of `options`, in the next word (`separate`) or the same (`attached`).

    `after`: the secret follows the first of these characters (`ada:secret`); without one there is no secret. `flags`:
    options of one letter that may precede it, after the same dash. `keyword`: only after this word. `once`: the words
    that follow belong to another program.
    """

    options: str
    after: str = ""
    flags: str = ""
    separate: bool = True
    attached: bool = True
    keyword: str = ""
    once: bool = False


MYSQL = (
    "mysql mysqladmin mysqlbinlog mysqlcheck mysqldump mysqlimport mysqlpump mysqlsh mysqlshow mysqlslap mysql_upgrade "
    "mariadb mariadb-admin mariadb-backup mariadb-binlog mariadb-check mariadb-dump mariadb-import mariadb-show "
    "mariabackup xtrabackup"
)
LDAP = "ldapadd ldapcompare ldapdelete ldapmodify ldapmodrdn ldappasswd ldapsearch ldapwhoami"
MONGO = "mongo mongosh mongodump mongoexport mongofiles mongoimport mongorestore mongostat mongotop"
SNMP = "snmpbulkget snmpbulkwalk snmpget snmpgetnext snmpset snmptable snmpwalk"
IMAGES = "apptainer buildah docker helm nerdctl oras podman singularity skopeo"
PDF = "pdfdetach pdffonts pdfimages pdfinfo pdfseparate pdftocairo pdftohtml pdftoppm pdftops pdftotext"
SHAPES = {
    "curl": (
        Shape("-u -U -E --user --proxy-user --cert", after=":", flags="aBfgGiIjJkLlMnNOpqRsSvZ0123456#"),
        Shape("-b", after="=", flags="aBfgGiIjJkLlMnNOpqRsSvZ0123456#"),
        Shape("--pass --proxy-pass --oauth2-bearer --tlspassword --proxy-tlspassword"),
    ),
    MYSQL: (Shape("-p", separate=False), Shape("password", attached=False, keyword="mysqladmin")),
    MONGO: (Shape("-p"),),
    LDAP: (Shape("-w"), Shape("-a -s", keyword="ldappasswd")),
    SNMP: (Shape("-A -X -c"),),
    f"{IMAGES} az cf ibmcloud oc": (Shape("-p", keyword="login"),),
    "kubectl": (Shape("--from-literal", after="=", keyword="secret"),),
    PDF: (Shape("-opw -upw", attached=False),),
    "sshpass": (Shape("-p", once=True),),
    "rdesktop ncftp ncftpget ncftpput": (Shape("-p"),),
    "redis-cli": (Shape("-a --pass", attached=False),),
    "rpcclient smbcacls smbclient smbget smbtar smbtree winexe": (Shape("-U --user", after="%"),),
    "sqlcmd bcp isql tsql ipmitool zip unzip": (Shape("-P"),),
    "mosquitto_pub mosquitto_rr mosquitto_sub": (Shape("-P --pw", attached=False),),
    "7z 7za 7zr 7zz rar unrar": (Shape("-p -hp", separate=False),),
    "xfreerdp wlfreerdp": (Shape("/p:", separate=False),),
    "openssl": (
        Shape("-pass -passin -passout -macopt", after=":", attached=False),
        Shape("-k -K -psk", attached=False),
    ),
    "jarsigner keytool": (
        Shape("-storepass -keypass -srcstorepass -deststorepass -srckeypass -destkeypass -new", attached=False),
    ),
    "ccat ccdecrypt ccencrypt ccrypt": (Shape("-K"),),
    "ssh-keygen": (Shape("-N -P"),),
    "pk12util": (Shape("-K -W"),),
    "osslsigncode": (Shape("-pass", attached=False),),
    "pdftk": (Shape("input_pw owner_pw user_pw", attached=False),),
    "steghide useradd usermod groupadd groupmod twine cqlsh": (Shape("-p"),),
    "slappasswd": (Shape("-s"),),
    "kadmin smbpasswd": (Shape("-w"),),
    "doveadm": (Shape("-p", keyword="pw"),),
    "dotnet": (Shape("-k", keyword="nuget"),),
    "poetry": (Shape("-p", keyword="publish"),),
    "plink pscp psftp putty": (Shape("-pw", attached=False),),
    "swaks": (Shape("-ap", attached=False),),
    "sendEmail sendemail": (Shape("-xp", attached=False),),
    "dig nsupdate": (Shape("-y", after=":"),),
    "etcdctl": (Shape("--user", after=":"),),
    "nmcli": (Shape("password psk wifi-sec.psk 802-11-wireless-security.psk", attached=False),),
    "http https xh": (Shape("-a", after=":"),),
    "lftp": (Shape("-u", after=","),),
    "aws": (Shape("aws_secret_access_key aws_session_token", attached=False),),
}
PROGRAMS = {name: shapes for names, shapes in SHAPES.items() for name in names.split()}


def without(words: Iterable[str]) -> Iterator[str]:
    """Yield the words of a command line, with the secrets of known programs replaced."""
    shapes: list[Shape] = []
    seen: set[str] = set()
    awaited: Shape | None = None
    for word in words:
        shown, follows = word, None
        if awaited:
            shown = _hidden(word, awaited)
        else:
            for shape in (shape for shape in shapes if not shape.keyword or shape.keyword in seen):
                separate, attached = _patterns(shape)
                found = attached.fullmatch(word)
                if separate.fullmatch(word):
                    follows = shape
                elif found and not follows:
                    shown = found[1] + _hidden(found[2], shape)
            if follows or shown != word:
                shapes = [shape for shape in shapes if not shape.once]
        if not awaited and not follows:
            shapes += [shape for shape in PROGRAMS.get(word.rpartition("/")[2], ()) if shape not in shapes]
            seen.add(word)
        awaited = follows
        yield shown


def in_script(text: str) -> str:
    """Return a text that may hold commands, with the secrets of known programs replaced."""
    if not named(text):
        return text
    result: list[str] = []
    for part in re.split(r"([;&|()\n]+)", text):
        words = _words().findall(part)
        bare = [word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word for word in words]
        kept = without(word for word in bare if not word.isspace())
        for word, inner in zip(words, bare, strict=True):
            shown = inner if inner.isspace() else next(kept)
            result.append(word if shown == inner else word.replace(inner, shown) if inner != word else shown)
    return "".join(result)


def named(text: str) -> bool:
    """Return whether a text names a known program."""
    if not any(name in text for name in PROGRAMS):
        return False
    return any(found[0] in PROGRAMS for found in re.finditer(r"(?<![\w.-])[\w-]+", text))


def _hidden(value: str, shape: Shape) -> str:
    """Return a value, with its secret replaced."""
    if not shape.after:
        return REDACTED
    kept = re.match(rf"[^{re.escape(shape.after)}]*[{re.escape(shape.after)}](?=.)", value, re.DOTALL)
    return kept[0] + REDACTED if kept else value


@lru_cache
def _patterns(shape: Shape) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of an option with its value in the next word, and of one with it in the same word."""
    before = f"-[{re.escape(shape.flags)}]*" if shape.flags else "-"
    names = [
        before + re.escape(name[1:]) if re.fullmatch("-[A-Za-z]", name) else re.escape(name)
        for name in shape.options.split()
    ]
    long = [re.escape(name) + "=" for name in shape.options.split() if name.startswith("--")]
    short = [name for name, option in zip(names, shape.options.split(), strict=True) if not option.startswith("--")]
    separate = "|".join(names) if shape.separate else "(?!)"
    attached = "|".join(long + short * shape.attached) or "(?!)"
    return re.compile(separate), re.compile(f"({attached})(.+)", re.DOTALL)


@lru_cache
def _words() -> re.Pattern[str]:
    return re.compile(r"\s+|(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+|[\"']")


SECRET = "TOKEN SECRET PASSW PASSPHRASE KEY CREDENTIAL AUTH COOKIE SESSION SIGNATURE PRIVATE".split()
# Secret words in a variable's name of several words; PWD alone is the current folder.
PARTS = frozenset("PASS PWD PW PAT JWT SSHPASS".split())
# Each part is bounded: a hostile text of megabytes must not take long.
HEADER = pattern(r"(?i)\b((?:proxy-)?authorization|cookie|x-[\w-]{0,40}(?:key|token))(\s{0,9}:\s{0,9})[^'\"]+")
ASSIGNED = pattern(r"(?<![^\s;&|(\"'])([A-Z_][A-Z0-9_]*)=(\"[^\"]*\"|'[^']*'|[^\s;&|)]+)")
GIVEN = pattern(r"(?<![^\s;&|(\"'])(--?)([A-Za-z][\w.-]*)(=|\s{1,99})(?!-)(\"[^\"]*\"|'[^']*'|[^\s;&|)]+)")
# `?token=…&` in an address, `user=ada,password=…` of a mount, `host=h password=…` of a database.
INNER = pattern(r"(?<![^?&,;\s\"'])([A-Za-z][\w.-]{0,99})=([^\s,;&#\"']+)")
# `password = "…"` and `"password": "…"` of a program's text.
QUOTED = pattern(
    r"""\b([A-Za-z_]\w{0,99})(["']?\s{0,9}[=:]\s{0,9}[rbufRBUF]{0,2})("[^"\n]{1,4096}"|'[^'\n]{1,4096}')"""
)
OPTION = pattern(r"(-{0,2})([A-Za-z][\w.-]*)(=?)(.*)", re.DOTALL)
# A text without any of these needs no further check.
SUSPECT = "@ = token secret pass pwd key credential auth bearer cookie".split()
NUMBERS = frozenset("integer decimal double".split())


@frozen
class Redaction:
    """Which names are secret: the usual ones and those that match `add`, less those that match `keep` (globs)."""

    add: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def variable(self, name: str, value: str) -> str:
        """Return an environment variable's value, redacted if it is a secret."""
        upper = name.upper()
        words = upper.split("_")
        usual = any(word in upper for word in SECRET) or not PARTS.isdisjoint(words if len(words) > 1 else ())
        return REDACTED if value and self._is_secret(name, usual) else without_passwords(value)

    def arguments(self, arguments: Iterable[bytes]) -> list[bytes]:
        """Return a command line without its secrets."""
        words = [argument.decode("latin-1") for argument in arguments]
        kept = self._argued(without(words)) if self._may_hold(" ".join(words)) else words
        return [text.encode("latin-1") for text in kept]

    def source(self, text: str) -> str:
        """Return a program's source text without the secrets in it."""

        def quoted(match: re.Match[str]) -> str:
            secret = self._is_secret(match[1], _is_secret_option(match[1]))
            return f"{match[1]}{match[2]}{match[3][0]}{REDACTED}{match[3][0]}" if secret else match[0]

        return self._inside(QUOTED.sub(quoted, text)) if self.add or _is_suspect(text) else text

    def command_line(self, encoded: str) -> str:
        """Return a command line as the trace format writes it, without its secrets."""
        return _command_line(self, encoded) if self._may_hold(encoded) else encoded

    def _may_hold(self, command_line: str) -> bool:
        """Return whether a command line needs a full check."""
        return bool(self.add) or _is_suspect(command_line) or named(command_line)

    def _argued(self, arguments: Iterator[str]) -> Iterator[str]:
        follows = ""
        for text in arguments:
            option = OPTION.fullmatch(text)
            secret = option is not None and self._is_secret(option[2], _is_secret_option(option[2], option[4]))
            if follows and not text.startswith("-") and self._is_secret(follows, _is_secret_option(follows, text)):
                yield REDACTED
            elif option and secret and option[3] and (option[1] or not re.search(r"\s", text)):
                yield option[1] + option[2] + "=" + REDACTED
            else:
                yield self._inside(text)
            follows = option[2] if option and secret and option[1] and not option[3] else ""

    def _inside(self, text: str) -> str:
        """Redact a text that may hold a script: assignments of secret variables, options, headers, addresses."""

        def assigned(match: re.Match[str]) -> str:
            return match[1] + "=" + (REDACTED if self.variable(match[1], match[2]) == REDACTED else match[2])

        def inner(match: re.Match[str]) -> str:
            return (
                f"{match[1]}={REDACTED}" if self._is_secret(match[1], _is_secret_option(*match.groups())) else match[0]
            )

        def given(match: re.Match[str]) -> str:
            secret = self._is_secret(match[2], _is_secret_option(match[2], match[4]))
            return match[1] + match[2] + match[3] + (REDACTED if secret else match[4])

        text = INNER.sub(inner, ASSIGNED.sub(assigned, without_passwords(in_script(text))))
        text = GIVEN.sub(given, text)
        return HEADER.sub(rf"\1\2{REDACTED}", text)

    def _is_secret(self, name: str, usual: bool) -> bool:
        return (usual or _matches(name, self.add)) and not _matches(name, self.keep)

    def setting(self, name: str, value: str, number: bool = False) -> str:
        """Return the value of a setting, redacted if any part of its dotted name is a secret's; a `number` is a secret
        only if the name certainly is one."""
        secret = any(self._is_secret(part, is_secret(part, value, number)) for part in parts_of(name))
        return REDACTED if value and secret else without_passwords(value)


def without_passwords(text: str) -> str:
    """Return a text without the passwords of addresses in it; a user name without a password stays, except in a web
    address: there it is a token."""
    if "@" not in text:
        return text
    return secret_words.without_passwords(text)


def declarations(found: Trace, redaction: Redaction) -> None:
    """Redact the declarations of programs, before any conclusion: not even the hash of a secret is stored."""
    for settings in found.declarations.holders():
        for name, value in settings.items():
            if value.type == "boolean":  # it states whether there is a secret
                continue
            text = redaction.setting(name, value.text, value.type in NUMBERS)
            if text != value.text:
                settings[name] = Value(TEXT, text)
    for entity in found.declarations.entities.values():
        entity.name, entity.identifier = without_passwords(entity.name), without_passwords(entity.identifier)


def processes(found: Trace, redaction: Redaction) -> None:
    """Redact the command lines of processes and the source texts of Tasks."""
    for process in found.processes.values():
        if "argv" in process.record:
            process.record["argv"] = redaction.command_line(process.record["argv"])
    for task in found.tasks.values():
        if "sourceText" in task.record:
            task.record["sourceText"] = redaction.source(task.record["sourceText"])
        if "sourceTextEncoded" in task.record:  # it is not UTF-8
            text = redaction.source(unquote(task.record["sourceTextEncoded"], errors="surrogateescape"))
            task.record["sourceTextEncoded"] = turtle.path_iri(text.encode("utf-8", "surrogateescape"))


def trace(found: Trace, redaction: Redaction) -> None:
    """Redact a trace's command lines and environment, before they are stored or shown."""
    if "commandLine" in found.run:
        found.run["commandLine"] = redaction.command_line(found.run["commandLine"])
    processes(found, redaction)
    found.environment = {name: redaction.variable(name, value) for name, value in found.environment.items()}


@lru_cache(1024)
def _command_line(redaction: Redaction, encoded: str) -> str:
    from provio.trace.decode import decode_argv  # slow to import; a recording has not loaded it

    return turtle.encode_argv(redaction.arguments(decode_argv(encoded)))


def _is_suspect(text: str) -> bool:
    folded = text.casefold()
    return any(word in folded for word in SUSPECT)


def _is_secret_option(name: str, value: str = "") -> bool:
    if name[:1] == "D" and _is_secret_option(name[1:], value):  # -Dpassword=…, as for Java and CMake
        return True
    return is_secret(name, value)


def _matches(name: str, globs: Iterable[str]) -> bool:
    if not globs:
        return False
    from fnmatch import fnmatchcase

    return any(fnmatchcase(name.upper(), glob.upper()) for glob in globs)
