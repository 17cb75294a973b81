"""Secrets that programs take where no word says so: a command line in, the same without them out.

`curl -u ada:secret`, `mysql -psecret`: which option of which program is a row of `SHAPES`. Programs are known by their
names wherever these stand (`sudo mysql …`, `sh -c "curl …"`): a secret that is kept costs more than a word that is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from provio.plain import plain

REDACTED = "REDACTED"


@plain(frozen=True)
class Shape:
    """How programs take a secret: `options` that have it as their value, in the next word or written beside them.

    `after`: it begins after the first of these characters (`ada:secret`), and there is none without; `flags`: options
    of one letter that may stand before one, after the same dash; `said`: only where this word stands before; `once`:
    what follows is another program's.
    """

    options: str
    after: str = ""
    flags: str = ""
    apart: bool = True
    beside: bool = True
    said: str = ""
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
    MYSQL: (Shape("-p", apart=False), Shape("password", beside=False, said="mysqladmin")),
    MONGO: (Shape("-p"),),
    LDAP: (Shape("-w"), Shape("-a -s", said="ldappasswd")),
    SNMP: (Shape("-A -X -c"),),
    f"{IMAGES} az cf ibmcloud oc": (Shape("-p", said="login"),),
    "kubectl": (Shape("--from-literal", after="=", said="secret"),),
    PDF: (Shape("-opw -upw", beside=False),),
    "sshpass": (Shape("-p", once=True),),
    "rdesktop ncftp ncftpget ncftpput": (Shape("-p"),),
    "redis-cli": (Shape("-a --pass", beside=False),),
    "rpcclient smbcacls smbclient smbget smbtar smbtree winexe": (Shape("-U --user", after="%"),),
    "sqlcmd bcp isql tsql ipmitool zip unzip": (Shape("-P"),),
    "mosquitto_pub mosquitto_rr mosquitto_sub": (Shape("-P --pw", beside=False),),
    "7z 7za 7zr 7zz rar unrar": (Shape("-p -hp", apart=False),),
    "xfreerdp wlfreerdp": (Shape("/p:", apart=False),),
    "openssl": (
        Shape("-pass -passin -passout -macopt", after=":", beside=False),
        Shape("-k -K -psk", beside=False),
    ),
    "jarsigner keytool": (
        Shape("-storepass -keypass -srcstorepass -deststorepass -srckeypass -destkeypass -new", beside=False),
    ),
    "ccat ccdecrypt ccencrypt ccrypt": (Shape("-K"),),
    "ssh-keygen": (Shape("-N -P"),),
    "pk12util": (Shape("-K -W"),),
    "osslsigncode": (Shape("-pass", beside=False),),
    "pdftk": (Shape("input_pw owner_pw user_pw", beside=False),),
    "steghide useradd usermod groupadd groupmod twine cqlsh": (Shape("-p"),),
    "slappasswd": (Shape("-s"),),
    "kadmin smbpasswd": (Shape("-w"),),
    "doveadm": (Shape("-p", said="pw"),),
    "dotnet": (Shape("-k", said="nuget"),),
    "poetry": (Shape("-p", said="publish"),),
    "plink pscp psftp putty": (Shape("-pw", beside=False),),
    "swaks": (Shape("-ap", beside=False),),
    "sendEmail sendemail": (Shape("-xp", beside=False),),
    "dig nsupdate": (Shape("-y", after=":"),),
    "etcdctl": (Shape("--user", after=":"),),
    "nmcli": (Shape("password psk wifi-sec.psk 802-11-wireless-security.psk", beside=False),),
    "http https xh": (Shape("-a", after=":"),),
    "lftp": (Shape("-u", after=","),),
    "aws": (Shape("aws_secret_access_key aws_session_token", beside=False),),
}
PROGRAMS = {name: shapes for names, shapes in SHAPES.items() for name in names.split()}


def without(words: Iterable[str]) -> Iterator[str]:
    """Yield the words of a command line without such secrets."""
    shapes: list[Shape] = []
    said: set[str] = set()
    awaited: Shape | None = None
    for word in words:
        shown, follows = word, None
        if awaited:
            shown = _hidden(word, awaited)
        else:
            for shape in (shape for shape in shapes if not shape.said or shape.said in said):
                apart, beside = _patterns(shape)
                found = beside.fullmatch(word)
                if apart.fullmatch(word):
                    follows = shape
                elif found and not follows:
                    shown = found[1] + _hidden(found[2], shape)
            if follows or shown != word:
                shapes = [shape for shape in shapes if not shape.once]
        if not awaited and not follows:
            shapes += [shape for shape in PROGRAMS.get(word.rpartition("/")[2], ()) if shape not in shapes]
            said.add(word)
        awaited = follows
        yield shown


def in_script(text: str) -> str:
    """Return a text that may hold commands, without such secrets."""
    if not named(text):
        return text
    told: list[str] = []
    for part in re.split(r"([;&|()\n]+)", text):
        words = _words().findall(part)
        bare = [word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word for word in words]
        kept = without(word for word in bare if not word.isspace())
        for word, inner in zip(words, bare, strict=True):
            shown = inner if inner.isspace() else next(kept)
            told.append(word if shown == inner else word.replace(inner, shown) if inner != word else shown)
    return "".join(told)


def named(text: str) -> bool:
    """Tell whether a text names a program that takes such secrets."""
    if not any(name in text for name in PROGRAMS):
        return False
    return any(found[0] in PROGRAMS for found in re.finditer(r"(?<![\w.-])[\w-]+", text))


def _hidden(value: str, shape: Shape) -> str:
    """A value without its secret."""
    if not shape.after:
        return REDACTED
    kept = re.match(rf"[^{re.escape(shape.after)}]*[{re.escape(shape.after)}](?=.)", value, re.DOTALL)
    return kept[0] + REDACTED if kept else value


@lru_cache
def _patterns(shape: Shape) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What an option is whose value is the next word, and what one is that has it beside itself."""
    before = f"-[{re.escape(shape.flags)}]*" if shape.flags else "-"
    names = [
        before + re.escape(name[1:]) if re.fullmatch("-[A-Za-z]", name) else re.escape(name)
        for name in shape.options.split()
    ]
    long = [re.escape(name) + "=" for name in shape.options.split() if name.startswith("--")]
    short = [name for name, option in zip(names, shape.options.split(), strict=True) if not option.startswith("--")]
    apart = "|".join(names) if shape.apart else "(?!)"
    beside = "|".join(long + short * shape.beside) or "(?!)"
    return re.compile(apart), re.compile(f"({beside})(.+)", re.DOTALL)


@lru_cache
def _words() -> re.Pattern[str]:
    return re.compile(r"\s+|(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+|[\"']")
