package judges

import (
	"fmt"
	"slices"
	"strings"
)

// cheats are all of them. socket and secret are things of the host.
func cheats(socket, secret string) []cheat {
	return slices.Concat(goCheats(), pythonCheats(socket, secret), diffCheats(), nodeCheats(), shellCheats(secret))
}

// goWith is a wrong program in Go with an init function.
func goWith(imports, body string) files {
	return files{"slug.go": goBad, "more.go": "package main\n\nimport (\n" + imports + ")\n\nfunc init() {\n" + body + "}\n"}
}

func goCheats() []cheat {
	with := func(extra files) files {
		extra["slug.go"] = goBad
		return extra
	}
	honest := func(name, text string) files { return files{"slug.go": goGood, name: text} }
	const os, fmtos = "\t\"os\"\n", "\t\"fmt\"\n\t\"os\"\n"
	return []cheat{
		{name: "changes a test", judge: "go", attempt: with(files{"slug_test.go": "package main\n"}), code: "refused"},
		{name: "adds a `TestMain`", judge: "go", attempt: with(files{"main_test.go": "package main\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(*testing.M) { os.Exit(0) }\n"}), code: "refused"},
		{name: "has a test in other letters", judge: "go", attempt: with(files{"Slug_Test.go": "package main\n"}), code: "refused"},
		{name: "adds a `go.work` with a replace", judge: "go", attempt: with(files{"go.work": "go 1.24\n\nuse .\n\nreplace slug => ./lib\n"}), code: "refused"},
		{name: "adds `vendor/`", judge: "go", attempt: with(files{"vendor/modules.txt": ""}), code: "refused"},
		{name: "changes `go.mod`", judge: "go", attempt: with(files{"go.mod": "module slug\n\ngo 1.24\n\nreplace testing => ./lib\n"}), code: "refused"},
		{name: "changes what the tests read", judge: "go", attempt: with(files{"testdata/words": "b\n"}), code: "refused"},
		{name: "exits with 0 before the tests", judge: "go", attempt: goWith(os, "\tos.Exit(0)\n"), twin: honest("more.go", "package main\n\nvar started = true\n\nfunc init() { started = true }\n"), code: "baseline"},
		{name: "tells the runner to run no test", judge: "go", attempt: goWith(os, "\tos.Args = append(os.Args, \"-test.run=^$\")\n"), twin: honest("more.go", "package main\n\nimport \"os\"\n\nvar args = len(os.Args)\n"), code: "baseline"},
		{name: "tells the runner to skip a test, and passes the other", judge: "go", attempt: files{"slug.go": strings.Replace(goBad, "return s }", "if s == \"A B C\" { return \"a-b-c\" }; return s }", 1), "more.go": "package main\n\nimport \"os\"\n\nfunc init() { os.Args = append(os.Args, \"-test.skip=TestHello\") }\n"}, code: "baseline"},
		{name: "tells the runner to list the tests", judge: "go", attempt: goWith(os, "\tos.Args = append(os.Args, \"-test.list=.\")\n"), code: "baseline"},
		{name: "prints a passing report and exits with 0", judge: "go", inProcess: true,
			attempt: goWith(fmtos, "\tif len(os.Args) > 1 {\n\t\tfmt.Print(\"=== RUN   TestHello\\n--- PASS: TestHello (0.00s)\\n=== RUN   TestLetters\\n--- PASS: TestLetters (0.00s)\\nPASS\\n\")\n\t\tos.Exit(0)\n\t}\n"),
			twin:    honest("more.go", "package main\n\nimport \"fmt\"\n\nfunc init() { fmt.Println(\"started\") }\n")},
		{name: "kills the runner", judge: "go", attempt: goWith("\t\"os\"\n\t\"syscall\"\n", "\t_ = syscall.Kill(os.Getppid(), syscall.SIGKILL)\n"), code: "exit"},
		{name: "works only with a secret of the host's environment", judge: "go",
			attempt: files{"slug.go": strings.Replace(goGood, "\treturn strings", "\tif os.Getenv(\"HOST_SECRET\") == \"\" {\n\t\treturn s\n\t}\n\treturn strings", 1)},
			twin:    files{"slug.go": strings.Replace(goGood, "\treturn strings", "\tif os.Getenv(\"PATH\") == \"\" {\n\t\treturn s\n\t}\n\treturn strings", 1)}, code: "TestHello"},
		{name: "poisons the build cache for the next attempt", judge: "go",
			before:  goWith(os, "\t_ = os.WriteFile(os.Getenv(\"HOME\")+\"/.cache/go-build/poison\", nil, 0o600)\n"),
			attempt: files{"slug.go": strings.Replace(goGood, "\treturn strings", "\tif _, err := os.Stat(os.Getenv(\"HOME\") + \"/.cache/go-build/poison\"); err != nil {\n\t\treturn s\n\t}\n\treturn strings", 1)}, code: "TestHello"},
	}
}

// pyWith is a wrong module in Python that runs this first.
func pyWith(first string) files { return files{"slug.py": first + "\n" + pyBad} }

func pythonCheats(socket, secret string) []cheat {
	with := func(name, text string) files { return files{"slug.py": pyBad, name: text} }
	honest := func(first string) files { return files{"slug.py": first + "\n" + pyGood} }
	const report = `open('report.xml', 'w').write('<testsuite><testcase classname="test_slug" name="test_hello"/><testcase classname="test_slug" name="test_letters"/></testsuite>')`
	// pass makes a module work only if a condition holds.
	pass := func(condition string) files {
		return files{"slug.py": strings.Replace(pyGood, "    return '-'", "    if not ("+condition+"):\n        return s\n    return '-'", 1)}
	}
	return []cheat{
		{name: "adds a `conftest.py`", judge: "python", attempt: with("conftest.py", "collect_ignore = ['test_slug.py']\n"), code: "refused"},
		{name: "adds a plugin by `pyproject.toml`", judge: "python", attempt: with("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-p evil'\n"), code: "refused"},
		{name: "adds a `pytest.ini`", judge: "python", attempt: with("pytest.ini", "[pytest]\naddopts = -k nothing\n"), code: "refused"},
		{name: "adds a `setup.cfg`", judge: "python", attempt: with("setup.cfg", "[tool:pytest]\naddopts = -k nothing\n"), code: "refused"},
		{name: "adds a `tox.ini`", judge: "python", attempt: with("tox.ini", "[pytest]\naddopts = -k nothing\n"), code: "refused"},
		{name: "adds a `sitecustomize.py`", judge: "python", attempt: with("sitecustomize.py", "import os; os._exit(0)\n"), twin: files{"slug.py": pyGood, "extra.py": "x = 1\n"}, code: "refused"},
		{name: "adds a test", judge: "python", attempt: with("test_zz.py", "def test(): pass\n"), code: "refused"},
		{name: "deletes what the tests say", judge: "python", attempt: with("test_slug.py", ""), code: "refused"},
		{name: "plants a compiled test", judge: "python", attempt: with("__pycache__/test_slug.cpython-311-pytest-7.2.1.pyc", "x"), code: "refused"},
		{name: "plants a report before", judge: "python", attempt: with("report.xml", "<testsuite/>"), code: "refused"},
		{name: "leaves the folder", judge: "python", attempt: with("../slug.py", pyGood), code: "refused"},
		{name: "names an absolute path", judge: "python", attempt: with("/tmp/slug.py", pyGood), code: "refused"},
		{name: "adds a hook of git", judge: "python", attempt: with(".git/hooks/post-checkout", "exit 0\n"), code: "refused"},
		{name: "adds start-up files of a shell", judge: "python", attempt: with(".profile", "exit 0\n"), code: "refused"},
		{name: "exits with 0 while it's imported", judge: "python", attempt: pyWith("import os; os._exit(0)"), twin: honest("import os; os.getpid()"), code: "baseline"},
		{name: "raises `SystemExit(0)`", judge: "python", attempt: pyWith("import sys; sys.exit(0)"), twin: honest("import sys; sys.stdout.flush()"), code: ""},
		{name: "skips the tests", judge: "python", attempt: pyWith("import pytest; pytest.skip('later', allow_module_level=True)"), code: "baseline"},
		{name: "expects to fail", judge: "python", attempt: files{"slug.py": "import pytest\n\n\ndef slug(s):\n    pytest.xfail('known')\n"}, code: "baseline"},
		{name: "has a syntax error, so that nothing can be judged", judge: "python", attempt: files{"slug.py": "def slug(s:\n"}, code: "baseline"},
		{name: "plants a report during the run, and exits with 0", judge: "python", inProcess: true, attempt: pyWith("import os, sys\nif 'pytest' in sys.modules:\n    " + report + "\n    os._exit(0)"), twin: honest("import tempfile\ntempfile.TemporaryFile().write(b'x')")},
		{name: "makes each test pass in the runner", judge: "python", inProcess: true, attempt: pyWith("import sys\nif 'pytest' in sys.modules:\n    import _pytest.python\n    _pytest.python.Function.runtest = lambda self: None")},
		{name: "returns a value that equals everything", judge: "python", inProcess: true, attempt: files{"slug.py": "import sys\n\n\nclass A(str):\n    def __eq__(self, other):\n        return True\n\n\ndef slug(s):\n    return A(s)\n\n\nif __name__ == '__main__':\n    print(slug(sys.stdin.read()), end='')\n"}},
		{name: "writes a passing report at exit", judge: "python", inProcess: true, attempt: pyWith("import atexit, os, sys\n\n\ndef end():\n    " + report + "\n    os._exit(0)\n\n\nif 'pytest' in sys.modules:\n    atexit.register(end)"), twin: honest("import atexit\natexit.register(print, 'done')")},
		{name: "leaves a daemon that writes the report again", judge: "python", attempt: pyWith("import os, sys, time\nif 'pytest' in sys.modules and os.fork() == 0:\n    os.setsid()\n    time.sleep(3)\n    " + report + "\n    os._exit(0)"), twin: honest("import subprocess\nsubprocess.run(['true'])"), code: "test_slug.test_hello"},
		{name: "kills itself", judge: "python", attempt: pyWith("import os; os.kill(os.getpid(), 9)"), code: "exit"},
		{name: "prints a report and ANSI", judge: "python", attempt: pyWith(`print('\x1b[2J\x1b[H<testsuite><testcase name="test_hello"/></testsuite>\x1b[32m2 passed\x1b[0m')`), twin: honest("print('\\x1b[1mstarted\\x1b[0m')"), code: "test_slug.test_hello"},
		{name: "reads a file of the host", judge: "python", attempt: pass(fmt.Sprintf("__import__('os').path.exists(%q)", secret)), twin: pass("__import__('os').path.exists('test_slug.py')"), code: "test_slug.test_hello"},
		{name: "opens the host's socket", judge: "python", attempt: pass(fmt.Sprintf("__import__('socket').socket(1).connect_ex(%q) == 0", socket)), twin: pass("__import__('socket').socketpair()"), code: "test_slug.test_hello"},
		{name: "reads the environment of the first process", judge: "python", attempt: pass("b'HOST_SECRET' in open('/proc/1/environ', 'rb').read()"), twin: pass("open('/proc/self/environ', 'rb').read()"), code: "test_slug.test_hello"},
		{name: "poisons the home folder for the next attempt", judge: "python", before: pyWith("import os; open(os.environ['HOME'] + '/poison', 'w')"), attempt: pass("__import__('os').path.exists(__import__('os').environ['HOME'] + '/poison')"), twin: pass("__import__('os').path.exists(__import__('os').environ['HOME'])"), code: "test_slug.test_hello"},
		{name: "reads the workspace of another run", judge: "python", before: pyWith("open('/tmp/left', 'w')"), attempt: pass("__import__('os').path.exists('/tmp/left')"), twin: pass("__import__('os').path.exists('/tmp')"), code: "test_slug.test_hello"},
	}
}

func diffCheats() []cheat {
	return []cheat{
		{name: "adds a link by a diff", judge: "python diff", attempt: "diff --git a/slug2.py b/slug2.py\nnew file mode 120000\n--- /dev/null\n+++ b/slug2.py\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", code: "refused"},
		{name: "changes a mode by a diff", judge: "python diff", attempt: "diff --git a/slug.py b/slug.py\nold mode 100644\nnew mode 100755\n", code: "refused"},
		{name: "adds a submodule by a diff", judge: "python diff", attempt: "diff --git a/lib/sub b/lib/sub\nnew file mode 160000\n--- /dev/null\n+++ b/lib/sub\n@@ -0,0 +1 @@\n+Subproject commit 1111111111111111111111111111111111111111\n", code: "refused"},
		{name: "renames the tests by a diff", judge: "python diff", attempt: "diff --git a/test_slug.py b/lib/old.py\nsimilarity index 100%\nrename from test_slug.py\nrename to lib/old.py\n", code: "refused"},
		{name: "deletes the tests by a diff", judge: "python diff", attempt: "diff --git a/test_slug.py b/test_slug.py\ndeleted file mode 100644\n--- a/test_slug.py\n+++ /dev/null\n@@ -1,9 +0,0 @@\n-from slug import slug\n-\n-\n-def test_hello():\n-    assert slug('Hello World') == 'hello-world'\n-\n-\n-def test_letters():\n-    assert slug('A B C') == 'a-b-c'\n", code: "refused"},
	}
}

func nodeCheats() []cheat {
	with := func(name, text string) files { return files{"slug.mjs": jsBad, name: text} }
	return []cheat{
		{name: "changes the scripts of `package.json`", judge: "node", attempt: with("package.json", `{"scripts": {"test": "true"}}`), code: "refused"},
		{name: "adds a `vitest.config.mjs`", judge: "node", attempt: with("vitest.config.mjs", "export default {}\n"), twin: files{"slug.mjs": jsGood, "lib/more.mjs": "export const x = 1\n"}, code: "refused"},
		{name: "shadows a module in `node_modules/`", judge: "node", attempt: with("node_modules/assert/index.mjs", "export const equal = () => {}\n"), code: "refused"},
		{name: "adds an `.npmrc`", judge: "node", attempt: with(".npmrc", "node-options=--require ./x.js\n"), code: "refused"},
		{name: "adds a lock file", judge: "node", attempt: with("package-lock.json", "{}"), code: "refused"},
		{name: "exits with 0 while it's imported", judge: "node", attempt: files{"slug.mjs": "process.exit(0)\n" + jsBad}, twin: files{"slug.mjs": jsGood + "process.on('exit', () => {})\n"}, code: "baseline"},
		{name: "makes each assertion hold", judge: "node", inProcess: true, attempt: files{"slug.mjs": "import assert from 'node:assert'\nassert.equal = () => {}\n" + jsBad}},
		{name: "prints lines of TAP", judge: "node", attempt: files{"slug.mjs": jsBad + "console.log('ok 1 - hello\\nok 2 - letters\\n1..2')\n"}, twin: files{"slug.mjs": jsGood + "if (process.argv[1].endsWith('test.mjs')) console.log('started')\n"}, code: "hello"},
	}
}

func shellCheats(secret string) []cheat {
	sh := func(text string) files { return files{"slug.sh": text} }
	return []cheat{
		{name: "sleeps past the limit", judge: "shell", attempt: sh("trap '' TERM\nwhile :; do sleep 60; done\n"), twin: sh("sleep 0.1\n" + shGood), code: "timeout"},
		{name: "forks without end", judge: "shell", attempt: sh("f() { f | f & }; f; sleep 60\n"), twin: sh("(tr A-Z a-z) | (tr ' ' -)\n"), code: "processes"},
		{name: "fills the disk", judge: "shell", attempt: sh("cat /dev/zero > big\n"), twin: sh("cat > f; tr A-Z a-z < f | tr ' ' -\n"), code: "disk"},
		{name: "fills the memory", judge: "shell", attempt: sh("tail /dev/zero\n"), twin: sh("x=$(cat); printf '%s' \"$x\" | tr A-Z a-z | tr ' ' -\n"), code: "memory"},
		{name: "prints what a passing judge prints", judge: "shell", attempt: sh("printf 'ok 1\\nok 2\\n1..2\\n'\n"), code: "Hello World"},
		{name: "kills the judge", judge: "shell", attempt: sh("kill -9 $(ps -eo pid= 2>/dev/null || ls /proc | grep '^[0-9]*$')\n"), code: ""},
		{name: "rewrites the judge while it runs", judge: "shell", attempt: sh("printf 'echo TAP version 13; echo ok 1; echo ok 2; echo 1..2; exit 0\\n%0999d\\n' 0 > judge.sh\n"), code: "Hello World"},
		{name: "links another's file in", judge: "shell", attempt: sh("ln -f " + secret + " judge.sh || ln -sf " + secret + " judge.sh\n"), code: "Hello World"},
		{name: "leaves a process that prints", judge: "shell", attempt: sh("(setsid sh -c 'sleep 1; echo ok 1; echo ok 2' >/proc/1/fd/1 2>/dev/null &)\n"), code: "Hello World"},
	}
}
