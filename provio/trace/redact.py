"""Replaces secrets in names, values and command lines by `REDACTED`.

A value is a secret because of its name (`*TOKEN*`, `*PASSWORD*` …), because it is the password in an address
(`https://ada:secret@host`), or because of its form (`secret_forms.py`). The name stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import unquote

from provio.base import turtle
from provio.base.records import frozen, pattern
from provio.interceptors.python import secret_words
from provio.interceptors.python.secret_words import is_secret, parts_of, words_of
from provio.interceptors.python.shared_tables import TEXT as WEAK
from provio.trace.secret_forms import ASSIGNMENTS, MARKS, NUMBERS, OPTION, STATED, SURE, TOKENS, VARIABLE, Form
from provio.trace.values import TEXT, Value

if TYPE_CHECKING:
    from provio.trace.declarations import Settings
    from provio.trace.run_facts import Trace


REDACTED = secret_words.REDACTED


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


# Options of known programs that take a secret though their names do not show it.
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
    if not _has_any(PROGRAMS, text):
        return False
    return any(found[0] in PROGRAMS for found in re.finditer(r"(?<![\w.-])[\w-]+", text))


def _has_any(parts: Iterable[str], text: str) -> bool:
    for part in parts:  # noqa: SIM110  # twice as fast as `any`, and done for each text of a run
        if part in text:
            return True
    return False


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
# Words that make the value of a setting secret if they are the last of its name; those of LAST only a text.
LAST_SURE = frozenset("pin passcode psk otp jwt".split())
LAST = frozenset("pw session sessionid".split())
COUNTS = frozenset("max min num n number total".split())  # before a plural: a number of things
TEXT_WORDS = frozenset(WEAK)
DIGITS = "0123456789"
ARGUMENT = pattern(r"(-{0,2})([A-Za-z][\w.-]*)(=?)(.*)", re.DOTALL)
QUOTES = "\"'`"
NUMBER_TYPES = frozenset("integer decimal double".split())


@frozen
class Redaction:
    """Which names are secret: the usual ones and those that match `add`, less those that match `keep` (globs)."""

    add: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def variable(self, name: str, value: str) -> str:
        """Return an environment variable's value, redacted if it is a secret."""
        return REDACTED if value and self._is_secret_variable(name) else self.text(value)

    def arguments(self, arguments: Iterable[bytes]) -> list[bytes]:
        """Return a command line without its secrets."""
        words = [argument.decode("latin-1") for argument in arguments]
        kept = self._argued(without(words)) if self._may_hold(" ".join(words)) else words
        return [text.encode("latin-1") for text in kept]

    def text(self, text: str) -> str:
        """Return a text (a script, a program, JSON …) without the secrets in it."""
        return self._inside(text) if self._may_hold(text) else text

    def command_line(self, encoded: str) -> str:
        """Return a command line as the trace format writes it, without its secrets."""
        return _command_line(self, encoded) if self._may_hold(encoded) else encoded

    def _may_hold(self, text: str) -> bool:
        """Return whether a text needs a full check."""
        return bool(self.add) or "@" in text or _has_any(MARKS, text.casefold()) or named(text)

    def _argued(self, arguments: Iterator[str]) -> Iterator[str]:
        follows = ""
        for text in arguments:
            option = ARGUMENT.fullmatch(text)
            secret = option is not None and self._is_secret(option[2], _is_secret_option(option[2], option[4]))
            if follows and not text.startswith("-") and self._is_secret(follows, _is_secret_option(follows, text)):
                yield REDACTED
            elif option and secret and option[3] and (option[1] or not re.search(r"\s", text)):
                yield option[1] + option[2] + "=" + REDACTED
            else:
                yield self._inside(text)
            follows = option[2] if option and secret and option[1] and not option[3] else ""

    def _inside(self, text: str) -> str:
        text, folded = without_passwords(in_script(text)), text.casefold()
        for form in (*TOKENS, *ASSIGNMENTS):
            if (self.add and form.judge) or any(mark in folded for mark in form.marks):
                text = self._replaced(form, text)
        return text

    def _replaced(self, form: Form, text: str) -> str:
        """Return a text with the secrets of one form replaced."""
        parts, copied, at = [], 0, 0
        while match := form.pattern.search(text, at):
            group, at = match.lastgroup or "value", match.end()
            start, end = match.span(group)
            value = match[group]
            named = "name" in match.re.groupindex
            if value.strip("()[]{}") in ("", REDACTED):
                continue
            if not named or self._is_assigned(form, match["name"], value):
                parts += [text[copied:start], REDACTED]
                copied = end
            elif value[0] in QUOTES or text[start - 1] in QUOTES:
                at = start + 1  # another assignment may be inside the quotes
        return "".join((*parts, text[copied:]))

    def _is_assigned(self, form: Form, name: str, value: str) -> bool:
        """Return whether a name marks a value as a secret, by the rule of a form."""
        if form.judge == VARIABLE:
            return self._is_secret_variable(name)
        if form.judge == OPTION:
            return self._is_secret(name, _is_secret_option(name, value))
        number = form.judge == SURE or bool(NUMBERS.fullmatch(value))
        return not STATED.fullmatch(value) and self._is_secret(name, is_secret(name, value, number))

    def _is_secret_variable(self, name: str) -> bool:
        upper = name.upper()
        words = upper.split("_")
        usual = any(word in upper for word in SECRET) or not PARTS.isdisjoint(words if len(words) > 1 else ())
        return self._is_secret(name, usual)

    def _is_secret(self, name: str, usual: bool) -> bool:
        return (usual or _matches(name, self.add)) and not _matches(name, self.keep)

    def is_name(self, name: str, value: str = "", number: bool = False) -> bool:
        """Return whether a name is that of a secret setting; if the value is a `number`, only if it certainly is."""
        words = name.upper().split("_")
        usual = is_secret(name, value, number) or (not number and words[1:] and not PARTS.isdisjoint(words))
        return self._is_secret(name, bool(usual))

    def setting(self, name: str, value: str, number: bool = False) -> str:
        """Return the value of a setting, redacted if a part of its dotted name, or two parts together (`api.key`), are
        a secret's; a `number` is a secret only if the name certainly is one."""
        return REDACTED if value and self._is_secret_setting(name, value, number) else self.text(value)

    def _is_secret_setting(self, name: str, value: str, number: bool) -> bool:
        parts = [part for part in parts_of(name) if not part.strip("[]").isdecimal()]  # not the places in a list
        joined = [f"{one}_{other}" for one, other in pairwise(parts)]
        own = _is_last_secret(parts[-1], number) if parts else False
        secret = any(self._is_secret(part, _is_secret_key(part, value, number)) for part in (*parts, *joined))
        return secret or (own and self._is_secret(parts[-1], own))


def without_passwords(text: str) -> str:
    """Return a text without the passwords of addresses in it; a user name without a password stays, except in a web
    address: there it is a token."""
    if "@" not in text:
        return text
    return secret_words.without_passwords(text)


def declarations(found: Trace, redaction: Redaction) -> None:
    """Redact the declarations of programs, before any conclusion: not even the hash of a secret is stored."""
    for configuration in found.declarations.configurations:
        configuration.name = redaction.text(configuration.name)
    for settings in found.declarations.holders():
        values(settings, redaction)
    for entity in found.declarations.entities.values():
        entity.name, entity.identifier = redaction.text(entity.name), redaction.text(entity.identifier)


def values(settings: Settings, redaction: Redaction) -> None:
    """Redact the values of settings."""
    for name, value in settings.items():
        if value.type == "boolean":  # it states whether there is a secret
            continue
        text = redaction.setting(name, value.text, value.type in NUMBER_TYPES)
        if text != value.text:
            settings[name] = Value(TEXT, text)


def metadata(found: dict[str, str], redaction: Redaction) -> dict[str, str]:
    """Return the metadata of a file, redacted by the names of the attributes (`DATASET:NAME`)."""
    return {
        name: redaction.setting(name.rpartition(":")[2].replace("/", "."), text, bool(NUMBERS.fullmatch(text)))
        for name, text in found.items()
    }


def contents(found: Trace, redaction: Redaction) -> None:
    """Redact the values of files."""
    for content in found.contents.values():
        values(content.parameters, redaction)
        values(content.metrics, redaction)
        content.metadata = metadata(content.metadata, redaction)


def processes(found: Trace, redaction: Redaction) -> None:
    """Redact the command lines of processes, and the names and source texts of Tasks."""
    for process in found.processes.values():
        if "argv" in process.record:
            process.record["argv"] = redaction.command_line(process.record["argv"])
    for task in found.tasks.values():
        for word in ("name", "sourceText"):
            if word in task.record:
                task.record[word] = redaction.text(task.record[word])
        if "sourceTextEncoded" in task.record:  # it is not UTF-8
            text = redaction.text(unquote(task.record["sourceTextEncoded"], errors="surrogateescape"))
            task.record["sourceTextEncoded"] = turtle.path_iri(text.encode("utf-8", "surrogateescape"))


def trace(found: Trace, redaction: Redaction) -> None:
    """Redact a trace's command lines and environment, before they are stored or shown."""
    for name in ("commandLine", "redirections"):
        if name in found.run:
            found.run[name] = redaction.command_line(found.run[name])
    processes(found, redaction)
    found.environment = {name: redaction.variable(name, value) for name, value in found.environment.items()}


@lru_cache(1024)
def _command_line(redaction: Redaction, encoded: str) -> str:
    from provio.trace.decode import decode_argv  # slow to import; a recording has not loaded it

    return turtle.encode_argv(redaction.arguments(decode_argv(encoded)))


def _is_secret_key(name: str, value: str, number: bool) -> bool:
    """Return whether a part of a setting's name is a secret's, also as a plural (`tokens`) or with a number at its end
    (`password2`)."""
    words = [word.rstrip(DIGITS) or word for word in words_of(name)]
    if words and words[0] not in COUNTS and words[-1].removesuffix("s") in TEXT_WORDS:
        words[-1] = words[-1].removesuffix("s")
    simple = "_".join(words)
    return is_secret(name, value, number) or (simple != "pass" and is_secret(simple, value, number))


def _is_last_secret(name: str, number: bool) -> bool:
    """Return whether the last word of a name is that of a secret only there: `pin`, `user_pw`, `session`."""
    words = [word.rstrip(DIGITS) or word for word in words_of(name)]
    last = words[-1] if words else ""
    return last in LAST_SURE or (last in LAST and (not number or (last == "pw" and len(words) > 1)))


def _is_secret_option(name: str, value: str = "") -> bool:
    if name[:1] == "D" and _is_secret_option(name[1:], value):  # -Dpassword=…, as for Java and CMake
        return True
    return is_secret(name, value)


def _matches(name: str, globs: Iterable[str]) -> bool:
    if not globs:
        return False
    from fnmatch import fnmatchcase

    return any(fnmatchcase(name.upper(), glob.upper()) for glob in globs)
