# needs: m4 m4
# needs: bison bison
# needs: gcc gcc
# reads: macros.m4 calc.y calc.c
# writes: expanded calc.c
# m4 with included and diverted text, a parser that bison makes with it, compiled and run.
set -u
umask 022
printf 'define(`twice'"'"', `$1 $1'"'"')dnl\n' >macros.m4
printf 'include(`macros.m4'"'"')dnl\ntwice(`word'"'"')\ndivert(1)later\ndivert(0)sooner\nsyscmd(`echo from a command'"'"')' | m4 | tee expanded
cat >calc.y <<'END'
%{
#include <ctype.h>
#include <stdio.h>
int yylex(void);
void yyerror(const char *text) { puts(text); }
%}
%token NUMBER
%left '+' '-'
%left '*'
%%
lines: | lines line;
line: sum '\n' { printf("%d\n", $1); } | error '\n' { yyerrok; };
sum: NUMBER | sum '+' sum { $$ = $1 + $3; } | sum '-' sum { $$ = $1 - $3; } | sum '*' sum { $$ = $1 * $3; };
%%
int yylex(void) {
    int c = getchar();
    while (c == ' ') c = getchar();
    if (c == EOF) return 0;
    if (!isdigit(c)) return c;
    for (yylval = 0; isdigit(c); c = getchar()) yylval = 10 * yylval + c - '0';
    ungetc(c, stdin);
    return NUMBER;
}
int main(void) { return yyparse(); }
END
bison -o calc.c --report=state calc.y
gcc -w -O1 -o calc calc.c
printf '1 + 2 * 3\n7 -\n4 * 5 - 1\n' | ./calc
echo "m4_fatal(" | m4 -E >/dev/null 2>&1
echo "m4 ended with $?"
bison -o none.c nothing.y 2>/dev/null
echo "bison ended with $?"
