"""Writes a C project to build: thirty-three sources in four folders, headers that include headers, a second program,
generated files, and three ways to build it (one make, a recursive one, CMake).

    src/<part>/<part>0.c …     eight a part, each includes its part's header and two or three of its own
    include/<part>/*.h         include one another; `unused.h` is not included
    gen/version.h              written by tools/version.py from VERSION
    gen/table.c                written by tools/table.py from data/table.csv
    tool/                      another program of the same build
"""

from __future__ import annotations

from pathlib import Path

PARTS = ("core", "io", "math", "util")
COUNT = 8

VERSION_PY = """import sys
number = open(sys.argv[1]).read().strip()
open(sys.argv[2], "w").write(f'#define VERSION "{number}"\\n')
"""
TABLE_PY = """import sys
rows = [int(line.split(",")[1]) for line in open(sys.argv[1])]
with open(sys.argv[2], "w") as out:
    out.write('#include "math/math.h"\\n')
    out.write("int table[] = {" + ", ".join(map(str, rows)) + "};\\n")
"""

FLAT = """
CC = gcc
CFLAGS = -O1 -MD -Iinclude -Igen
PARTS = core io math util
VERSION_TEXT := $(shell cat VERSION)
SOURCES_util = $(wildcard src/util/*.c)
SOURCES_math = $(wildcard src/math/*.c)
OBJECTS = $(patsubst %.c,%.o,$(wildcard src/core/*.c src/io/*.c)) src/main.o

all: app tool/tool
app: $(OBJECTS) libutil.a libmath.a
\t$(CC) -o $@ $(OBJECTS) libutil.a libmath.a
libutil.a: $(SOURCES_util:.c=.o)
\trm -f $@
\tar rc $@ $^
\tranlib $@
libmath.a: $(SOURCES_math:.c=.o) gen/table.o
\trm -f $@
\tar rcs $@ $^
tool/tool: tool/tool.o
\t$(CC) -o $@ $^
src/main.o: gen/version.h
gen/version.h: VERSION tools/version.py
\tpython3 tools/version.py VERSION $@
gen/table.c: data/table.csv tools/table.py
\tpython3 tools/table.py data/table.csv $@
include rules.mk
-include $(wildcard src/*.d src/*/*.d gen/*.d tool/*.d)
"""
RULES = """%.o: %.c
\t$(CC) $(CFLAGS) -c -o $@ $<
"""
TOP = """
CC = gcc
CFLAGS = -O1 -MD -Iinclude -Igen
ARCHIVES = src/core/libcore.a src/io/libio.a src/math/libmath.a src/util/libutil.a

all: app tool/tool
app: src/main.o $(ARCHIVES)
\t$(CC) -o $@ src/main.o -Wl,--start-group $(ARCHIVES) -Wl,--end-group
src/%.a: FORCE
\t$(MAKE) -C $(@D) $(@F)
tool/tool: tool/tool.o
\t$(CC) -o $@ $^
src/main.o: gen/version.h
gen/version.h: VERSION tools/version.py
\tpython3 tools/version.py VERSION $@
FORCE:
include rules.mk
-include src/main.d tool/tool.d
"""
SUB = """
CC = gcc
CFLAGS = -O1 -MD -I../../include -I../../gen
OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c)) MORE
libPART.a: $(OBJECTS)
\trm -f $@
\tar rcs $@ $(OBJECTS)
include ../../rules.mk
-include $(wildcard *.d)
"""
SUB_TABLE = """
../../gen/table.c: ../../data/table.csv ../../tools/table.py
\tpython3 ../../tools/table.py ../../data/table.csv $@
"""
CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(app C)
include_directories(include ${CMAKE_BINARY_DIR}/gen)
find_package(Python3 COMPONENTS Interpreter REQUIRED)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/gen)
add_custom_command(OUTPUT gen/version.h DEPENDS VERSION tools/version.py
    COMMAND python3 ${CMAKE_SOURCE_DIR}/tools/version.py ${CMAKE_SOURCE_DIR}/VERSION gen/version.h)
add_custom_command(OUTPUT gen/table.c DEPENDS data/table.csv tools/table.py
    COMMAND python3 ${CMAKE_SOURCE_DIR}/tools/table.py ${CMAKE_SOURCE_DIR}/data/table.csv gen/table.c)
file(GLOB UTIL src/util/*.c)
file(GLOB MATH src/math/*.c)
file(GLOB REST src/core/*.c src/io/*.c)
add_library(util STATIC ${UTIL})
add_library(math STATIC ${MATH} ${CMAKE_BINARY_DIR}/gen/table.c)
add_executable(app src/main.c ${REST} ${CMAKE_BINARY_DIR}/gen/version.h)
target_link_libraries(app util math)
add_executable(tool tool/tool.c)
"""


def header(name: str, *includes: str) -> str:
    guard = name.replace("/", "_").replace(".", "_").upper()
    lines = [f"#ifndef {guard}", f"#define {guard}", *(f'#include "{one}"' for one in includes)]
    return "\n".join([*lines, f"#define HAS_{guard} 1", "#endif", ""])


def headers() -> dict[str, str]:
    """The text of each header below `include`; a part's own includes the part's before it."""
    found = {"common/types.h": header("common/types.h"), "common/unused.h": header("common/unused.h", "common/types.h")}
    for place, part in enumerate(PARTS):
        for number in range(4):
            after = [f"{part}/{part}{number - 1}.h"] if number else ["common/types.h"]
            found[f"{part}/{part}{number}.h"] = header(f"{part}/{part}{number}.h", *after)
        earlier = [f"{PARTS[place - 1]}/{PARTS[place - 1]}1.h"] if place else []
        functions = "".join(f"int {part}{number}(int);\n" for number in range(COUNT))
        found[f"{part}/{part}.h"] = header(f"{part}/{part}.h", *earlier) + functions
    return found


def source(part: str, number: int) -> str:
    """A function of its own; the even ones include a private header of theirs too."""
    lines = [f'#include "{part}/{part}.h"', f'#include "{part}/{part}{number % 4}.h"', "#include <stdio.h>"]
    lines += [f'#include "{part}{number}_private.h"'] if number % 2 == 0 else []
    lines.append(f'int {part}{number}(int n) {{ if (n > 100) puts("{part}"); return n + {number}; }}')
    return "\n".join(lines) + "\n"


def main_source() -> str:
    calls = "".join(f"    n = {part}{number}(n);\n" for part in PARTS for number in range(COUNT))
    includes = "".join(f'#include "{part}/{part}.h"\n' for part in PARTS)
    return (
        f'#include <stdio.h>\n#include "version.h"\n{includes}extern int table[];\n'
        f'int main(void) {{\n    int n = table[1];\n{calls}    printf("%s %d\\n", VERSION, n);\n    return 0;\n}}\n'
    )


def files() -> dict[str, str]:
    """Every file of the tree that is not generated, and its text."""
    found = {f"include/{name}": text for name, text in headers().items()}
    for part in PARTS:
        for number in range(COUNT):
            found[f"src/{part}/{part}{number}.c"] = source(part, number)
            if number % 2 == 0:
                found[f"src/{part}/{part}{number}_private.h"] = header(f"{part}{number}_private.h")
        more = ("../../gen/table.o", SUB_TABLE) if part == "math" else ("", "")
        found[f"src/{part}/Makefile"] = SUB.replace("MORE", more[0]).replace("PART", part) + more[1]
    found |= {
        "src/main.c": main_source(),
        "tool/tool.c": '#include "tool.h"\n#include "common/unused.h"\nint main(void) { return HAS_TOOL_H - 1; }\n',
        "tool/tool.h": header("tool.h"),
        "tools/version.py": VERSION_PY,
        "tools/table.py": TABLE_PY,
        "VERSION": "4.7.11\n",
        "data/table.csv": "a,1\nb,2\nc,3\n",
        "Makefile": FLAT,
        "recursive.mk": TOP,
        "rules.mk": RULES,
        "CMakeLists.txt": CMAKE,
    }
    return found


def write(folder: Path) -> None:
    """Write the tree into a folder."""
    for name, text in files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "gen").mkdir(exist_ok=True)


def dependencies(file: Path) -> set[str]:
    """The files that a `.d` file of gcc's names, as they stand there."""
    text = file.read_text().replace("\\\n", " ")
    return set(text.partition(":")[2].split("\n")[0].split())
