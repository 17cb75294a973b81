r"""The forms in which secrets stand in texts: one table, which `docs/privacy.md` lists.

A pattern has the group `value`, which is replaced, and may have the group `name`: then the value is a secret only if
the name is one. Every pattern takes linear time also for hostile texts of megabytes: a match starts only at the start
of a word, and repetitions are bounded, possessive, or succeed at the end of the text.
"""

from __future__ import annotations

import re

from provio.base.records import frozen, pattern

# How the name of an assignment is judged.
VARIABLE, OPTION, SETTING, SURE = "variable", "option", "setting", "sure"
# Each name of a secret has one of these.
WORDS = ("token", "secret", "pass", "pwd", "key", "credential", "auth", "bearer", "cookie")
VARIABLE_WORDS = (*WORDS, "session", "signature", "private", "pw", "pat_", "_pat", "jwt")


@frozen
class Form:
    """One form: `shown` is its entry in the documentation.

    `marks`: a text in lower case without any of them has no such secret. `sample` replaces `{}` in the texts `hidden`,
    where it must be redacted; the texts `kept` must stay. `judge`: the rule for the name. VARIABLE: as for variables
    of the environment; OPTION: as for options; SETTING: the same, a number only if the name certainly is a secret's;
    SURE: all values only then.
    """

    shown: str
    pattern: re.Pattern[str]
    sample: str
    hidden: tuple[str, ...]
    kept: tuple[str, ...]
    marks: tuple[str, ...] = WORDS
    judge: str = ""


# A word starts here, and a token of letters and digits, or of these with `-` and `_`.
WORD, PART = r"(?<![\w-])", "(?<![A-Za-z0-9])"
NAME = r"(?P<name>[A-Za-z_][\w-]{0,99}+)"
# Between the name and a quoted value: `=`, `:`, `=>`, `'] =`, `": `, `\": r`.
ASSIGNS = r"\\{0,8}+[\"'`]?[\]}]?\s{0,9}+(?::=|=>|[=:])\s{0,9}+[rbufRBUF]{0,2}+"
MIXED = "(?=[a-z]{0,64}+[A-Z0-9])"  # no word of small letters
WITH_DIGIT = "(?=[A-Za-z]{0,64}+[0-9])"
# A word of a shell; a quote that ends the surrounding string is no part of it.
GIVEN = r"(?P<value>\"[^\"]*+\"|'[^']*+'|(?:[^\s;&|)\"']|[\"']{1,9}+(?=[^\s;&|)\"']))++)"
FILLER = "A1b2C3d4E5" * 9

TOKENS = (
    Form(
        "`ghp_…`, `gho_…`, `ghu_…`, `ghs_…`, `ghr_…`, `github_pat_…`",
        pattern(PART + r"(?P<value>gh[opsur]_[A-Za-z0-9]{16,255}+|github_pat_[A-Za-z0-9_]{20,255}+)"),
        "ghp_" + FILLER[:36],
        ("{}", "git clone https://host/x {} y", "f('{}')", "url?x={}&y"),
        ("ghp_results.csv", "github_pat_short", "high_" + FILLER[:36]),
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    Form(
        "`glpat-…` and other tokens of GitLab",
        pattern(WORD + r"(?P<value>gl(?:pat|ptt|dt|rt|cbt|soat|ft|agent)-(?=[A-Za-z_-]{0,64}+[0-9])[\w-]{20,255}+)"),
        "glpat-" + FILLER[:20],
        ("{}", "clone '{}'"),
        ("glpat-notes.txt", "glrt-a-long-name-without-digits"),
        ("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glft-", "glagent-"),
    ),
    Form(
        "`AKIA…`, `ASIA…`",
        pattern(PART + "(?P<value>A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16})(?![A-Za-z0-9])"),
        "AKIA" + FILLER[:20].upper()[:16],
        ("{}", "aws configure set x {}", '["{}"]'),
        ("AKIA.csv", "ASIATIC_REGIONS", "AKIA" + FILLER[:30].upper()),
        ("akia", "asia", "abia", "acca"),
    ),
    Form(
        "`xoxb-…`, `xoxp-…`, `xapp-…`",
        pattern(WORD + r"(?P<value>xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,512}+|xapp-[0-9]-[A-Za-z0-9-]{10,512}+)"),
        "xoxb-123456789012-" + FILLER[:24],
        ("{}", "post({})"),
        ("xoxo-letter.txt", "xapp-2.tar"),
        ("xox", "xapp-"),
    ),
    Form(
        "`https://hooks.slack.com/services/…`",
        pattern(r"(?<=hooks\.slack\.com/services/)(?P<value>[\w/]{16,256}+)"),
        "T00000000/B00000000/" + FILLER[:24],
        ("curl https://hooks.slack.com/services/{} -d x",),
        ("https://hooks.slack.com/services/",),
        ("hooks.slack.com/",),
    ),
    Form(
        "`sk-…`, `sk-proj-…`, `sk-ant-…`",
        pattern(
            rf"{WORD}(?P<value>sk-(?:ant-[a-z]{{2,9}}[0-9]{{2}}-[\w-]{{16,512}}+|(?:proj|svcacct|admin)-[\w-]{{40,512}}+"
            rf"|(?:[a-z]{{2,10}}-(?:v[0-9]-)?)?{WITH_DIGIT}[A-Za-z0-9]{{20,255}}+[\w-]{{0,255}}+))"
        ),
        "sk-" + FILLER[:48],
        ("{}", "-H 'X: {}'", 'client("{}")'),
        (
            "sk-learn-data.csv",
            "sk-SK",
            "sk-learn-data-2024-01-02.csv",
            "risk-" + FILLER[:48],
            "sk-internationalization",
        ),
        ("sk-",),
    ),
    Form(
        "`sk_live_…`, `rk_live_…`, `whsec_…`",
        pattern(PART + r"(?P<value>(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,255}+)"),
        "sk_live_" + FILLER[:24],
        ("{}", "stripe --x {}"),
        ("sk_live_data.csv", "sk_test_1"),
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"),
    ),
    Form(
        "`hf_…`",
        pattern(PART + rf"(?P<value>hf_{MIXED}[A-Za-z0-9]{{30,255}}+)"),
        "hf_" + FILLER[:34],
        ("{}", "login(token={})"),
        ("hf_model.bin", "hf_" + "abcdefghij" * 4),
        ("hf_",),
    ),
    Form(
        "`AIza…`, `ya29.…`, `GOCSPX-…`",
        pattern(WORD + r"(?P<value>AIza[\w-]{35}|ya29\.[\w-]{20,2048}+|GOCSPX-[\w-]{20,64}+)(?![\w-])"),
        "AIza" + FILLER[:35],
        ("{}", "?x={}"),
        ("AIzawa.txt", "ya29.csv"),
        ("aiza", "ya29.", "gocspx-"),
    ),
    Form(
        "`pypi-AgE…`, `npm_…`",
        pattern(WORD + r"(?P<value>pypi-AgE[\w-]{16,1024}+|npm_[A-Za-z0-9]{30,64}+)"),
        "pypi-AgE" + FILLER,
        ("{}", "twine --x {}"),
        ("pypi-mirror-list.txt", "npm_config_cache", "npm_lifecycle_event"),
        ("pypi-age", "npm_"),
    ),
    Form(
        "`dckr_pat_…`, `dop_v1_…`, `dapi…`, `hvs.…`, `SG.….…`, `AGE-SECRET-KEY-1…`",
        pattern(
            WORD + r"(?P<value>dckr_pat_[\w-]{20,255}+|do[opr]_v1_[0-9a-f]{32,128}+|dapi[0-9a-f]{32}(?![0-9a-z])"
            r"|hvs\.[\w-]{20,255}+|SG\.[\w-]{16,64}+\.[\w-]{16,64}+|AGE-SECRET-KEY-1[0-9A-Z]{50,64}+)"
        ),
        "dckr_pat_" + FILLER[:27],
        ("{}", "login '{}'"),
        ("dapi.py", "SG.csv", "hvs.txt", "dop_v1_x"),
        ("dckr_pat_", "_v1_", "dapi", "hvs.", "sg.", "age-secret-key-"),
    ),
    Form(
        "JSON web tokens, `eyJ….….…`",
        pattern(WORD + r"(?P<value>eyJ[\w-]{8,8192}+(?:\.[\w-]{4,16384}+){2,4}+)"),
        "eyJ" + FILLER[:30] + ".eyJ" + FILLER + "." + FILLER[:43],
        ("{}", "curl -H 'X: {}' u", '{"x": "{}"}'),
        ("eyJafjallajokull.2010.nc", "eyJ.a.b", "eyJ" + FILLER),
        ("eyj",),
    ),
    Form(
        "`Bearer …`",
        pattern(r"\b[Bb]earer\s{1,9}+(?P<value>(?=[A-Za-z._~+/-]{0,64}+[0-9])[\w.~+/-]{16,8192}+={0,2}+)"),
        FILLER[:32],
        ("x Bearer {}", "-H 'X-Y: bearer {}'"),
        ("Bearer of the message", "a Bearer authentication-and-authorization"),
        ("bearer",),
    ),
    Form(
        "private keys, `-----BEGIN … PRIVATE KEY-----`",
        pattern(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?P<value>[\s\S]*?)(?=-----END |\Z)"),
        "\nMIIE" + FILLER + "\n",
        ("-----BEGIN PRIVATE KEY-----{}-----END PRIVATE KEY----- x", "-----BEGIN RSA PRIVATE KEY-----{}"),
        ("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----\nMIIB"),
        ("private key",),
    ),
    Form(
        "signed addresses, `?sig=…`, `?X-Amz-Signature=…`",
        pattern(
            r"(?i)(?<=[?&])(?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token))"
            r"=(?P<value>[^\s&#;\"'\\]{8,8192}+)"
        ),
        FILLER[:44],
        ("https://h/x?sv=1&sig={}&y", "https://h/x?X-Amz-Signature={}", "https://h/?X-Amz-Credential={}"),
        ("https://h/x?design=modern-design", "signature=of-the-function"),
        ("?sig", "&sig", "?x-", "&x-"),
    ),
)

ASSIGNMENTS = (
    Form(
        "`\"passwords\": [\"…\"]`, `auth=(\"ada\", \"…\")`",
        pattern(
            rf"{WORD}{NAME}\\{{0,8}}+[\"']?\s{{0,9}}+(?:=>|[:=])\s{{0,9}}+"
            r"(?=[\[{(]\s{0,9}+\\{0,8}+[\"'0-9])"
            r"(?:\[(?P<value>[^\[\]{}]{1,4096}+)\]|\{(?P<map>[^\[\]{}]{1,4096}+)\}|\((?P<pair>[^()\[\]{}]{1,4096}+)\))"
        ),
        '"hunter2", "hunter3"',
        (
            '{"passwords": [{}], "a": 1}', "credentials = [{}]", r'{\"secrets\": [{}]}', "get(u, auth=({}))",
            '{"auth": {{}}}',
        ),
        (
            '{"tokens": ["a", "b"]}', '{"token": [1, 2]}', '{"users": ["ada"]}', "token = [i for i in x]",
            "auth = (a + b)",
        ),
        judge=SETTING,
    ),
    Form(
        "`DB_PASSWORD=… command`",
        pattern(r"(?<![^\s;&|(\"'])(?P<name>[A-Z_][A-Z0-9_]*+)=" + GIVEN),
        "hunter2",
        ("PGPASSWORD={} psql", "export TOKEN={}; x", "bash -c 'export TOKEN={}; y'", "A_PASS={}"),
        ("COMPASS=1", "PASSES=2", "NAME=x"),
        VARIABLE_WORDS,
        judge=VARIABLE,
    ),
    Form(
        "`?token=…`, `user=ada,password=…`",
        pattern(r"(?<![^?&#,;:\s\"'])(?P<name>[A-Za-z_][\w.-]{0,99}+)=(?P<value>[^\s,;&#\"']+)"),
        "hunter2",
        (
            "http://h/x?a=1&api_key={}&b=2", "https://h/#access_token={}", "-o user=a,password={},ro",
            "host=h password={}", "//h/:_authToken={}",
        ),
        ("http://h/x?key=1", "x=1,sort_key=2"),
        judge=OPTION,
    ),
    Form(
        "`--password …` in a script",
        pattern(
            r"(?<![^\s;&|(\"'])--?(?P<name>[A-Za-z][\w.-]*+)(?:=|\s{1,99}+)(?!-)"
            + GIVEN
        ),
        "hunter2",
        ("x --password {} y", "x --api-key={}; y", "(x -token {})", "x --run 'y --password {}'"),
        ("x --max-tokens 3", "sort --key 2", "x --password --y"),
        judge=OPTION,
    ),
    Form(
        '`password = """…"""`',
        pattern(rf"{WORD}{NAME}{ASSIGNS}(?P<quote>\"\"\"|''')(?P<value>[\s\S]*?)(?:(?P=quote)|\Z)"),
        "hunter2\nhunter3",
        ('password = """{}"""; x', "TOKEN = '''{}'''", 'secret = r"""{}'),
        ('text = """password"""', "token = ''''''"),
        ('"""', "'''"),
        judge=OPTION,
    ),
    Form(
        r"`{\"password\": \"…\"}` inside a string",
        pattern(
            rf"{WORD}{NAME}{ASSIGNS}(?P<quote>\\{{1,8}}[\"'])(?P<value>(?:(?!(?P=quote))(?:\\++.|[^\\\n]))++)"
        ),
        "hunter2",
        (
            r'"{\"password\": \"{}\", \"user\": \"ada\"}"', r'"{\\\"api_key\\\":\\\"{}\\\"}"',
            r'x({\"a\": {\"token\": \"{}\"}})',
        ),
        (r'"{\"user\": \"ada\"}"', r'"{\"password\": \"\"}"', r'"{\"sort_key\": \"x\"}"'),
        ('\\"', "\\'"),
        judge=OPTION,
    ),
    Form(
        "`{\"password\": \"…\"}`, `password = '…'`, `environ['API_KEY'] = '…'`",
        pattern(
            rf"{WORD}{NAME}{ASSIGNS}(?:\"(?P<value>(?:\\[\s\S]|[^\"\\\n])++)"
            r"|'(?P<single>(?:\\[\s\S]|[^'\\\n])++)|`(?P<back>(?:\\[\s\S]|[^`\\])++))"
        ),
        "hunter2",
        (
            '{"password": "{}"}', '{"a": {"db": {"password" : "{}"}}, "b": 1}', "{'user': 'ada', 'api_key': '{}'}",
            "password = \"{}\"", "$password = \"{}\"; x", "%h = (password => '{}')", "$h{password} = '{}'",
            "import os; os.environ['API_KEY']='{}'", 'f(password="{}", user="ada")', '{"db.password": "{}"}',
            "const apiKey = `{}`", "password := \"{}\"", '{"x-api-key":"{}"}', 'token = "{}',
            "x = \"f(password='{}')\"",
        ),
        (
            '{"user": "ada"}', '{"key": "a", "sort_key": "b"}', "author = 'Ada'", '{"password": ""}',
            '{"password": null}', "password_file_of('x')", 'tokenizer = "bert"',
        ),
        judge=OPTION,
    ),
    Form(
        "`putenv(\"API_KEY\", \"…\")`",
        pattern(
            r"\(\s{0,9}+[\"'](?P<name>[A-Za-z_][\w.-]{0,99}+)[\"']\s{0,9}+,\s{0,9}+"
            r"(?:\"(?P<value>(?:\\[\s\S]|[^\"\\\n])++)|'(?P<single>(?:\\[\s\S]|[^'\\\n])++))"
        ),
        "hunter2",
        ('os.putenv("API_KEY", "{}")', "os.environ.setdefault('DB_PASSWORD', '{}')"),
        ('f("key", "a")', 'print("user", "ada")'),
        judge=OPTION,
    ),
    Form(
        "`password: …` on a line of YAML",
        pattern(
            rf"(?m)^[ \t]*+(?:-[ \t]{{1,9}}+)?[\"']?{NAME}[\"']?:[ \t]{{1,9}}+(?P<value>[^\s\"'`\[{{][^\n]*+)"
        ),
        "hunter2",
        ("user: ada\npassword: {}\nport: 1", "password: {}", "a:\n  - api-key: {}", "passphrase: {}"),
        ("key: 1", "pad_token_id: 50256", "password: null", "password: str,", "see password: no", "user: ada"),
        judge=SETTING,
    ),
    Form(
        "`{password: …}`, `{\"password\": 1234}`",
        pattern(
            r"[{,\"'`][ \t]{0,9}+[\"']?(?P<name>[A-Za-z_][\w-]{0,99}+)\\{0,8}+[\"']?:\s{0,9}+"
            r"(?P<value>[^\s\"'`\[{,}\\][^\n\"'`,}\\]{0,512}+)"
        ),
        "1234",
        ('{"password": {}, "a": 1}', "{user: ada, password: {}}", "echo \"password: {}\" > x", r'"{\"pwd\": {}}"'),
        ('{"token": 3}', "{token: i for i in x}", '{"password": true}', "f(a, password: str)"),
        judge=SURE,
    ),
    Form(
        "`password = …` on a line",
        pattern(
            r"(?m)(?:^|[\"'`]|\\n)[ \t]{0,99}+(?P<name>[A-Za-z_][\w.-]{0,99}+)[ \t]{1,9}+=[ \t]{0,9}+"
            r"(?![rbufRBUF]{1,2}[\"'])(?P<value>[^\s\"'`()\[\]{}\\=]++)(?![(\[{])"
        ),
        "hunter2",
        ("[client]\nuser = ada\npassword = {}\n", "printf 'db.password = {}\\n' > x"),
        ("user = ada", "token = tokens", "password = None", "password == x", "password = read()"),
        judge=SURE,
    ),
    Form(
        "`<password>…</password>`",
        pattern(r"<(?:[\w-]{1,40}:)?(?P<name>[A-Za-z_][\w.-]{0,99}+)>(?P<value>[^<>\n]{1,4096}+)</"),
        "hunter2",
        ("<a><password>{}</password></a>", "<db:api-key>{}</db:api-key>"),
        ("<key>a</key>", "<password></password>", "<user>ada</user>"),
        judge=OPTION,
    ),
    Form(
        "`setenv PASSWORD …`, `set -x PASSWORD …`",
        pattern(
            r"\bset(?:env\s{1,9}+|\s{1,9}+-\w{1,4}\s{1,9}+)(?P<name>[A-Za-z_]\w{0,99}+)\s{1,9}+"
            + GIVEN
        ),
        "hunter2",
        ("setenv API_TOKEN {}; x", "set -gx PASSWORD {}", "set -x DB_PASS {}"),
        ("setenv NAME x", "set -e PATH x"),
        VARIABLE_WORDS,
        VARIABLE,
    ),
    Form(
        "`login ada password …`",
        pattern(r"\b(?:login|account)\s{1,9}+\S{1,256}+\s{1,9}+password\s{1,9}+(?P<value>\S++)"),
        "hunter2",
        ("machine h login ada password {}",),
        ("the login has a password now",),
    ),
    Form(
        "`Authorization: …`, `Cookie: …`, `X-Api-Key: …`",
        pattern(
            r"(?i)(?<![\w-])(?:(?:proxy-)?authorization|(?:set-)?cookie|private-token|api-?key|x-[\w-]{0,40}(?:key|token))"
            r"\s{0,9}:\s{0,9}+(?P<value>[^'\"\n]++)"
        ),
        "Basic aHVudGVyMg==",
        ("Authorization: {}", "curl -H 'x-my-key: {}' u", "Cookie:{}", "PRIVATE-TOKEN: {}"),
        ("X-Requested-With: x", "authorizations: 3"),
    ),
)  # fmt: skip
MARKS = tuple({mark: 0 for form in (*TOKENS, *ASSIGNMENTS) for mark in form.marks})
# Values that are numbers, and nothing else.
NUMBERS = pattern(r"[-+0-9.,eE_\s]*")
# Values of a line `name: value` that state no secret: whether there is one, or a type in the text of a program.
STATED = pattern(
    r"(?i)(?:true|false|yes|no|null|~|\{\}|\[\]|string"
    r"|(?:optional\[)?(?:str|bytes|int|float|bool|object|none|any)\]?(?: \| none)?(?: = none)?)[\s,):]*"
)
