#!/usr/bin/env python3
"""Shows that layering.py bites: each rule is broken in a tree of its own, and kept in another."""

import tempfile
import unittest
from pathlib import Path

import layering


def findings_in(files):
    """What layering finds in a tree of these files (path: text)."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return layering.check_tree(root)


class Includes(unittest.TestCase):
    def assert_refused(self, path, include):
        text = ("#pragma once\n" if path.endswith(".h") else "\n") + f"#include {include}\n"
        findings = findings_in({path: text})
        self.assertEqual(len(findings), 1, findings)
        self.assertTrue(findings[0].startswith(f"{path}:2: "), findings)

    def assert_accepted(self, path, include):
        self.assertEqual(findings_in({path: f"#pragma once\n#include {include}\n"}), [])

    def test_upward(self):
        self.assert_refused("src/stretto/base/a.cc", '"stretto/fabric/fabric.h"')
        self.assert_refused("src/stretto/fabric/local/a.h", '"stretto/core/event.h"')
        self.assert_refused("src/stretto/core/a.cc", '"stretto/collective/group.h"')
        self.assert_refused("src/stretto/program/a.cc", '"stretto/collective/group.h"')
        self.assert_refused("src/stretto/collective/a_test.cc", '"stretto/cli/commands.h"')

    def test_across(self):
        self.assert_refused("src/stretto/schedule/a.cc", '"stretto/fabric/fabric.h"')
        self.assert_refused("src/stretto/core/a.cc", '"stretto/schedule/schedule.h"')
        self.assert_refused("src/stretto/flow/a.cc", '"stretto/graph/queue.h"')
        self.assert_refused("apps/stencil_1d/a.cc", '"conjugate_gradient/halo.h"')
        self.assert_refused("apps/stencil_1d/a.cc", '"stretto/cli/commands.h"')

    def test_downward(self):
        self.assert_accepted("src/stretto/collective/a.h", '"stretto/schedule/schedule.h"')
        self.assert_accepted("src/stretto/core/a.h", '"stretto/core/event.h"')
        self.assert_accepted("apps/stencil_1d/a.h", '"stretto/collective/group.h"')
        self.assert_accepted("apps/stencil_1d/a.h", '"stretto/program/tally.h"')
        self.assert_accepted("apps/stencil_1d/a.h", '"stencil_1d/options.h"')

    def test_unknown_module(self):
        self.assert_refused("src/stretto/core/a.cc", '"stretto/novelty/a.h"')
        self.assertEqual(len(findings_in({"src/stretto/novelty/a.cc": ""})), 1)

    def test_form(self):
        self.assert_refused("src/stretto/core/a.cc", '"event.h"')
        self.assert_refused("src/stretto/core/a.cc", "<stretto/core/event.h>")
        self.assertEqual(len(findings_in({"src/stretto/core/a.h": "// no guard\n"})), 1)

    def test_heavy_headers(self):
        for include in ("<nlohmann/json.hpp>", "<spdlog/spdlog.h>", "<ucp/api/ucp.h>", "<pmix.h>", "<hwloc.h>",
                        "<boost/context/fiber.hpp>", "<sodium.h>"):
            self.assert_refused("src/stretto/fabric/a.h", include)
            self.assert_accepted("src/stretto/fabric/a.cc", include)
        self.assert_accepted("src/stretto/fabric/a.h", "<vector>")
        self.assert_accepted("src/stretto/fabric/a.h", "<nlohmann/json_fwd.hpp>")

    def test_headers_of_one_file(self):
        include = "<CLI/CLI.hpp>"
        self.assert_accepted("src/stretto/program/arguments.cc", include)
        for path in ("src/stretto/program/arguments.h", "src/stretto/program/arguments_test.cc", "src/stretto/cli/run.cc",
                     "apps/stencil_1d/options.cc", "benchmarks/event/event_bench.cc"):
            self.assert_refused(path, include)

    def test_comments_are_not_includes(self):
        self.assertEqual(findings_in({"src/stretto/base/a.cc": '/*\n#include "stretto/core/event.h"\n*/\n'}), [])

    def test_an_empty_tree_is_refused(self):
        self.assertEqual(len(findings_in({})), 1)


class Determinism(unittest.TestCase):
    path = "src/stretto/core/a.cc"

    def assert_refused(self, line, path=path):
        findings = findings_in({path: f"\n{line}\n"})
        self.assertEqual(len(findings), 1, (line, findings))
        self.assertTrue(findings[0].startswith(f"{path}:2: "), findings)

    def assert_accepted(self, line, path=path):
        self.assertEqual(findings_in({path: f"\n{line}\n"}), [], line)

    violations = (
        "auto now = std::chrono::steady_clock::now();",
        "using Clock = std::chrono::system_clock;",
        "clock_gettime(CLOCK_MONOTONIC, &now);",
        "std::random_device device;",
        "int chance = rand();",
        "std::mt19937 generator;",
        "auto id = std::this_thread::get_id();",
        "thread_local int cache = 0;",
        "auto hash = std::hash<int>()(3);",
        "std::map<Node*, int> by_node;",
        "std::set<const Task *> tasks;",
    )

    def test_each_rule_bites(self):
        for line in self.violations:
            self.assert_refused(line)
            self.assert_refused(line, "apps/stencil_1d/a.cc")

    def test_reasons_excuse(self):
        for line in self.violations:
            self.assert_accepted(f"{line}  // determinism: only printed")
            self.assert_accepted(f"// determinism: only printed\n{line}")
            self.assert_refused(f"{line}  // determinism:")

    def test_drivers_tests_and_benchmarks_are_exempt(self):
        for line in self.violations:
            for path in ("src/stretto/base/a.cc", "src/stretto/fabric/sim/a.cc", "src/stretto/core/a_test.cc",
                         "benchmarks/event/a.cc"):
                self.assert_accepted(line, path)

    def test_what_only_looks_alike(self):
        for line in ("// a thread_local would differ", 'print("rand()");', "grand(3);", "int my_random_devices;",
                     "std::map<int, Node*> nodes;", "std::vector<Node*> nodes;", "constexpr int a = 1'000, b = 'x';",
                     'auto text = R"(rand())";'):
            self.assert_accepted(line)

    def test_unordered_iteration(self):
        container = "std::unordered_map<std::uint64_t, std::vector<int>> table_;"
        self.assert_refused("for (auto& [key, value] : table_) use(key);\n" + container)
        self.assert_refused("for (auto& [key,\n value] : this->table_) use(key);\n" + container)
        self.assert_refused("auto first = table_.begin();\n" + container)
        self.assert_refused("for (int x : seen) use(x);\nusing Seen = std::unordered_set<int>; Seen seen;")
        self.assert_accepted("auto found = table_.find(3);\n" + container)
        self.assert_accepted("for (int x : others) use(x);\n" + container)

    def test_unordered_iteration_of_a_member(self):
        findings = findings_in({
            "src/stretto/core/a.h": "#pragma once\nstruct A { std::unordered_set<int> seen_; };\n",
            "src/stretto/core/a.cc": "\nvoid f() { for (int x : seen_) use(x); }\n",
        })
        self.assertEqual(findings, ["src/stretto/core/a.cc:2: iterates an unordered container"])


class Algorithms(unittest.TestCase):
    SOURCE = "/// Source: somebody, somewhere.\n"
    TABLE = "///     rank       0     1\n///     round 0    ->    <-\n"
    CLASS = "class New final : public Algorithm {};\n"

    def findings(self, *parts):
        return findings_in({"src/stretto/schedule/algorithm/new.h": "#pragma once\n" + "".join(parts)})

    def test_source_and_table(self):
        self.assertEqual(self.findings("/// Does it.\n///\n", self.SOURCE, "///\n", self.TABLE, self.CLASS), [])
        self.assertEqual(self.findings("class Helper {};\n"), [])

    def test_what_is_missing(self):
        path = "src/stretto/schedule/algorithm/new.h"
        self.assertEqual(self.findings(self.TABLE, self.CLASS), [f"{path}:4: New names no source"])
        self.assertEqual(self.findings(self.SOURCE, self.CLASS), [f"{path}:3: New shows no worked table"])
        self.assertEqual(len(self.findings(self.SOURCE, self.TABLE, "\n", self.CLASS)), 2)


class References(unittest.TestCase):
    source = {"src/stretto/core/a.cc": "\n"}

    def test_what_is_not_here_is_not_cited(self):
        for words in ("CONTRACTS 11", "the CONTRACTS", "DESIGN section 7", "DESIGN 6, 7", "DESIGN.md"):
            self.assertEqual(len(findings_in({"src/stretto/core/a.cc": f"\n// For a reason ({words}).\n"})), 1, words)
            for path in ("README.md", "docs/decisions/0001-a.md", "docs/guide/a.md"):
                findings = findings_in({**self.source, path: f"# A\n\nFor a reason ({words}).\n"})
                self.assertEqual(len(findings), 1, (path, words, findings))
                self.assertTrue(findings[0].startswith(f"{path}:3: cites "), findings)

    def test_what_only_looks_alike(self):
        for words in ("ARCHITECTURE.md", "decision 7", "its contracts", "the design, section 7", "DESIGNATED 7"):
            self.assertEqual(findings_in({"src/stretto/core/a.cc": f"// {words}\n", "README.md": f"{words}\n"}), [])


if __name__ == "__main__":
    unittest.main()
