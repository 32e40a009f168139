#!/usr/bin/env python3
"""Fails when a source file breaks a rule that the compiler does not know.

    layering.py ROOT

1. Includes point downward: a module includes only the modules that ALLOWED gives it.
2. Headers stay light: the libraries of HEAVY are included by .cc files only, those of ONLY_IN by one.
3. Determinism: what runs in simulation asks neither clocks, nor random devices, nor addresses, nor the order of
   unordered containers (RULES; modules that are exempt in DRIVERS). A line that has to is excused by a comment
   "// determinism: reason" on it, or alone on the line above.
4. Each algorithm of the schedules names its source and shows a worked table, in the comment above its class.
5. Sources and documents refer only to what is here: not to the notes that the design began with (ELSEWHERE).

Each finding is one line, FILE:LINE: what is wrong; the exit status is 1 if there is any.
"""

import re
import sys
from pathlib import Path

# Which modules a module may include, besides itself. This is the picture of the layers, and the only copy of it here.
ALLOWED = {
    "base": (),
    "trace": ("base",),
    "schedule": ("base",),
    "fabric": ("base",),
    "core": ("base", "trace", "fabric"),
    "program": ("base", "trace", "fabric", "core"),
    "collective": ("base", "trace", "fabric", "core", "schedule"),
    "eventual": ("base", "trace", "fabric", "core", "schedule", "collective"),
    "flow": ("base", "trace", "fabric", "core", "schedule", "collective", "eventual"),
    "graph": ("base", "trace", "fabric", "core", "schedule", "collective", "eventual"),
    "cli": ("base", "trace", "fabric", "core", "program", "schedule", "collective", "eventual", "flow", "graph"),
}

# Folders on top of all modules. Each folder in them is a program, which includes modules (not cli) and itself.
PROGRAMS = ("apps", "examples", "benchmarks")
PROGRAMS_MAY_INCLUDE = tuple(module for module in ALLOWED if module != "cli")

# json_fwd.hpp only declares: it is there for headers.
HEAVY = re.compile(r"<(?:nlohmann/(?!json_fwd)|spdlog/|fmt/|boost/|uc[pst]/|pmix|hwloc|sodium|fftw)")

# What takes so long to compile that one file includes it for all others.
ONLY_IN = {"<CLI/": "src/stretto/program/arguments.cc"}

# The modules that drive the machine, real or simulated: time and chance enter through them alone.
DRIVERS = ("base", "fabric")

RULES = (
    (re.compile(r"\b(?:steady|system|high_resolution|utc|file)_clock\b|\b(?:clock_gettime|gettimeofday)\b"),
     "reads a clock; time comes from the node's context"),
    (re.compile(r"\brandom_device\b|\bs?rand\s*\(|\bmt19937"),
     "draws random numbers of its own; use base/random.h with a seed from the context"),
    (re.compile(r"\bthis_thread::get_id\b|\bthread::id\b|\bpthread_self\b|\bgettid\b"),
     "asks which thread it runs on"),
    (re.compile(r"\bthread_local\b"), "keeps state by thread"),
    (re.compile(r"\bstd::hash\b"), "uses std::hash, which differs between libraries; use base/hash.h"),
    (re.compile(r"\b(?:multi)?(?:map|set)<\s*(?:const\s+)?[\w:]+(?:<[^<>]*>)?(?:\s+const)?\s*\*"),
     "keys a container by pointers, whose order differs from run to run"),
)

# Reasons belong in ARCHITECTURE.md, a decision or the comment itself.
ELSEWHERE = re.compile(r"\bCONTRACTS\b|\bDESIGN(?:\.md| sections?| \d)")

EXCUSE = re.compile(r"//\s*determinism:\s*\S")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|(<[^>]+>))')
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|'
    r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'", re.DOTALL)


def blank(text, comments_only=False):
    """The text with comments, and strings unless comments_only, replaced by blanks; lines stay where they are."""
    def replace(match):
        token = match.group()
        if comments_only and not token.startswith("/"):
            return token
        return re.sub(r"[^\n]", " ", token)

    return TOKEN.sub(replace, text)


def module_of(path):
    """("src", "core") for src/stretto/core/event.h, ("apps", "stencil_1d") for what is in that folder."""
    parts = path.parts
    if parts[:2] == ("src", "stretto") and len(parts) > 3:
        return "src", parts[2]
    return parts[0], parts[1] if len(parts) > 2 else ""


def check_includes(path, text):
    group, module = module_of(path)
    if group == "src" and module not in ALLOWED:
        yield 1, f"module '{module}' has no place among the layers; give it one in tests/layering/layering.py"
        return
    for number, line in enumerate(blank(text, comments_only=True).splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, angled = match.groups()
        if angled:
            complaints = judge_angled_include(path, angled)
        else:
            complaints = judge_include(group, module, quoted)
        yield from ((number, complaint) for complaint in complaints)


def judge_angled_include(path, angled):
    if angled.startswith("<stretto/"):
        yield f"write #include \"{angled[1:-1]}\" with quotes"
    if path.suffix == ".h" and HEAVY.match(angled):
        yield f"a header includes {angled}; only .cc files may"
    for library, file in ONLY_IN.items():
        if angled.startswith(library) and path.as_posix() != file:
            yield f"includes {angled}; only {file} may"


def judge_include(group, module, included):
    parts = included.split("/")
    if parts[0] == "stretto" and len(parts) > 2:
        target = parts[1]
        if target not in ALLOWED:
            yield f"includes {included}, of a module without a place among the layers"
        elif group == "src" and target != module and target not in ALLOWED[module]:
            yield f"includes {included}, but {module} may include {', '.join(ALLOWED[module]) or 'nothing'}"
        elif group in PROGRAMS and target not in PROGRAMS_MAY_INCLUDE:
            yield f"includes {included}, but programs do not build on {target}"
    elif group == "src":
        yield f"includes \"{included}\"; write the path from src, \"stretto/...\""
    elif group in PROGRAMS and parts[0] != module:
        yield f"includes {included}, of another program; what programs share belongs in a module"


def template_end(text, start):
    """The index after the > that closes the < at `start`."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"<": 1, ">": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return len(text)


def unordered_names(text):
    """Names that the text declares as unordered containers, directly or by an alias."""
    names = set()
    aliases = set()
    for match in re.finditer(r"\bunordered_(?:multi)?(?:map|set)\s*(?=<)", text):
        after = template_end(text, match.end())
        declared = re.match(r"[\s&*]*(\w+)", text[after:])
        if declared:
            names.add(declared.group(1))
        alias = re.search(r"\busing\s+(\w+)\s*=\s*(?:std::)?$", text[:match.start()])
        if alias:
            aliases.add(alias.group(1))
    for alias in aliases:
        names.update(re.findall(rf"\b{alias}\b[\s&*]+(\w+)\s*[;={{,)]", text))
    return names


def check_determinism(path, text, header_text):
    group, module = module_of(path)
    in_scope = group in ("src", "apps", "examples") and not (group == "src" and module in DRIVERS)
    if not in_scope or path.name.endswith("_test.cc"):
        return
    original = text.splitlines()
    code = blank(text)
    names = unordered_names(code) | unordered_names(blank(header_text))
    rules = list(RULES)
    if names:
        any_name = "|".join(sorted(names))
        rules.append((re.compile(rf"\bfor\s*\([^;]*:\s*(?:\w+(?:\.|->))*(?:{any_name})\s*\)|\b(?:{any_name})\.c?begin\("),
                      "iterates an unordered container"))

    def is_excused(number):
        above = original[number - 2].strip() if number > 1 else ""
        return EXCUSE.search(original[number - 1]) or (above.startswith("//") and EXCUSE.search(above))

    for pattern, complaint in rules:
        for match in pattern.finditer(code):
            number = code.count("\n", 0, match.start()) + 1
            if not is_excused(number):
                yield number, complaint


def check_algorithm(path, text):
    if path.parent.as_posix() != "src/stretto/schedule/algorithm" or path.suffix != ".h":
        return
    for match in re.finditer(r"((?:^///[^\n]*\n)*)^class (\w+) final : public (?:Algorithm|Composition)\b", text, re.M):
        comment, name = match.groups()
        number = text.count("\n", 0, match.end(1)) + 1
        if not re.search(r"^/// Sources?: \S", comment, re.M):
            yield number, f"{name} names no source"
        if len(re.findall(r"^///     \S", comment, re.M)) < 2:
            yield number, f"{name} shows no worked table"


def check_references(text):
    for match in ELSEWHERE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, f"cites '{match.group()}', which is not in the repository"


def check_tree(root):
    """All findings under `root`, as lines of text; refuses a tree in which there is nothing to check."""
    findings = []
    files = sorted(path for folder in ("src", *PROGRAMS) for path in (root / folder).rglob("*")
                   if path.suffix in (".h", ".cc"))
    if not files:
        return [f"{root}: no source files here"]
    for file in files:
        path = file.relative_to(root)
        text = file.read_text(encoding="utf-8")
        header = file.with_suffix(".h")
        header_text = header.read_text(encoding="utf-8") if file.suffix == ".cc" and header.exists() else ""
        found = [*check_includes(path, text), *check_determinism(path, text, header_text), *check_algorithm(path, text)]
        if file.suffix == ".h" and "#pragma once" not in text:
            found.append((1, "a header without #pragma once"))
        found += check_references(text)
        findings += [f"{path}:{number}: {complaint}" for number, complaint in sorted(found)]
    for file in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        path = file.relative_to(root)
        findings += [f"{path}:{number}: {complaint}" for number, complaint in check_references(file.read_text("utf-8"))]
    return findings


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    findings = check_tree(Path(arguments[0]))
    print("\n".join(findings) if findings else "layering: no findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
