package report

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

// summary is a report in a line, and each finding in one.
func summary(r *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d/%d/%d", r.Passed, r.Failed, r.Skipped)
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n%s %s:%d:%d [%s] %s", f.Severity, f.Path, f.Line, f.Column, f.Code, f.Message)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		format Format
		text   string
		want   string
	}{
		"junit: pytest": {JUnit, `<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="3"><testcase classname="test_a" name="test_one" time="0.1"/>` +
			`<testcase classname="test_a" name="test_two"><failure message="assert 1 == 2">def test_two():
&gt;       assert 1 == 2
E       assert 1 == 2

test_a.py:7: AssertionError</failure></testcase><testcase classname="test_a" name="test_skip"><skipped/></testcase></testsuite></testsuites>`,
			"1/1/1\nerror test_a.py:7:0 [test_a.test_two] test_a.test_two: assert 1 == 2"},
		"junit: a file attribute":   {JUnit, `<testsuite><testcase name="a" file="./src/a.js" line="3"><error>Boom</error></testcase></testsuite>`, "0/1/0\nerror src/a.js:3:0 [a] a: Boom"},
		"junit: lies in its count":  {JUnit, `<testsuite tests="9" failures="0"><testcase name="a"><failure/></testcase></testsuite>`, "0/1/0\nerror :0:0 [a] a:"},
		"junit: a suite's error":    {JUnit, `<testsuite><error message="no import"/></testsuite>`, "0/1/0\nerror :0:0 [error] no import"},
		"tap: 13":                   {TAP, "TAP version 13\n1..3\nok 1 - adds\nnot ok 2 - subtracts\n  ---\n  error: 'got 1'\n  at: lib/a.js:3:9\n  ...\nok 3 - later # SKIP no net\n", "1/1/1\nerror lib/a.js:3:9 [subtracts] subtracts failed: got 1"},
		"tap: todo":                 {TAP, "1..1\nnot ok 1 - later # TODO write it\n", "0/0/1"},
		"tap: subtests don't count": {TAP, "TAP version 14\n# Subtest: a\n    ok 1 - x\n    not ok 2 - y\n    1..2\nnot ok 1 - a\n1..1\n", "0/1/0\nerror :0:0 [a] a failed"},
		"tap: fewer than planned":   {TAP, "1..3\nok 1\n", "1/1/0\nerror :0:0 [plan] the plan has another number of tests than ran"},
		"tap: bails out":            {TAP, "1..1\nok 1\nBail out! no database\n", "1/1/0\nerror :0:0 [bail_out] Bail out! no database"},
		"sarif": {SARIF, `{"version":"2.1.0","runs":[{"tool":{"driver":{"rules":[{"id":"G1","defaultConfiguration":{"level":"error"}}]}},"results":[
			{"ruleId":"G1","message":{"text":"bad"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a%20b.go"},"region":{"startLine":3,"startColumn":4}}}]},
			{"ruleId":"G2","message":{"text":"hm"}},{"ruleId":"G3","level":"note","message":{"text":"n"}},{"ruleId":"G4","kind":"pass","message":{"text":"p"}},{"ruleId":"G5","level":"error","message":{"text":"s"},"suppressions":[{"kind":"inSource"}]}]}]}`,
			"0/0/0\nerror a b.go:3:4 [G1] bad\nwarning :0:0 [G2] hm\ninfo :0:0 [G3] n"},
		"go test": {GoTest, `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:5: got 1\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"        want 2\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB/sub"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
`, "1/1/1\nerror a_test.go:5:0 [TestA] TestA: got 1\n        want 2"},
		"go test: doesn't build": {GoTest, `{"ImportPath":"p","Action":"build-output","Output":"# p\n"}
{"ImportPath":"p","Action":"build-output","Output":"./a.go:3:5: undefined: x\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p"}
`, "0/1/0\nerror a.go:3:5 [] undefined: x"},
		"go test: ends":          {GoTest, `{"Action":"output","Package":"p","Output":"exit status 3\n"}` + "\n" + `{"Action":"fail","Package":"p"}`, "0/1/0\nerror :0:0 [package] package p failed: exit status 3"},
		"go test: lines between": {GoTest, "hello\n{\"a\":1}\n{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"T\"}\n", "1/0/0"},
		"checkstyle": {Checkstyle, `<?xml version='1.0'?><checkstyle version="4.3"><file name="x.sh"><error line="3" column="4" severity="warning" message="Double quote." source="ShellCheck.SC2086"/></file></checkstyle>`,
			"0/0/0\nwarning x.sh:3:4 [ShellCheck.SC2086] Double quote."},
		"junit: of a library": {JUnit, `<testsuite><testcase name="a"><error message="m">/usr/lib/python3/x.py:6: in y&#10;&lt;frozen x.y&gt;:7: in z&#10;test_a.py:1: in z</error></testcase></testsuite>`, "0/1/0\nerror test_a.py:1:0 [a] a: m"},
		"lines: gcc":          {Lines, "a.c: In function 'main':\na.c:3:5: error: 'x' undeclared [-Werror=y]\na.c:3:5: note: each\n", "0/0/0\nerror a.c:3:5 [-Werror=y] 'x' undeclared\ninfo a.c:3:5 [] each"},
		"lines: go vet":       {Lines, "# p\n./a.go:3:5: x declared and not used\nvet: ./b.go:1:2: bad\n", "0/0/0\nerror a.go:3:5 [] x declared and not used\nerror b.go:1:2 [] bad"},
		"lines: mypy":         {Lines, "a.py:3: error: Incompatible types  [assignment]\nFound 1 error in 1 file\n", "0/0/0\nerror a.py:3:0 [assignment] Incompatible types"},
		"lines: flake8":       {Lines, "./a.py:3:1: F401 'os' imported but unused\n", "0/0/0\nerror a.py:3:1 [F401] 'os' imported but unused"},
		"lines: pylint":       {Lines, "a.py:3:0: E0602: Undefined variable 'y' (undefined-variable)\n", "0/0/0\nerror a.py:3:0 [E0602] Undefined variable 'y' (undefined-variable)"},
		"lines: tsc":          {Lines, "src/a.ts(3,5): error TS2322: Type 'x'.\n", "0/0/0\nerror src/a.ts:3:5 [TS2322] Type 'x'."},
		"lines: yamllint":     {Lines, "a.yaml:3:5: [warning] too many spaces (colons)\n", "0/0/0\nwarning a.yaml:3:5 [colons] too many spaces"},
		"lines: markdown":     {Lines, "a.md:3 MD022/blanks-around-headings Headings should be\n", "0/0/0\nerror a.md:3:0 [] MD022/blanks-around-headings Headings should be"},
		"lines: workspace":    {Lines, "/workspace/src/a.go:1:1: x\n", "0/0/0\nerror src/a.go:1:1 [] x"},
		"lines: eslint":       {Lines, "\n/workspace/src/a.js\n  1:1  error  'x' is not defined  no-undef\n  2:12  warning  Unused y\n\n✖ 2 problems\n", "0/0/0\nerror src/a.js:1:1 [no-undef] 'x' is not defined\nwarning src/a.js:2:12 [] Unused y"},
		"lines: stylelint":    {Lines, "\na.css\n  1:5  ✖  Unknown property \"colr\"  property-no-unknown\nb.css\n  7:1  ⚠  Odd  odd/rule\n\n✖ 1 problem\n", "0/0/0\nerror a.css:1:5 [property-no-unknown] Unknown property \"colr\"\nwarning b.css:7:1 [odd/rule] Odd"},
		"lines: html":         {Lines, "/workspace/a.html\n  1:9  error  <img> is missing required \"alt\" attribute            wcag/h37\n", "0/0/0\nerror a.html:1:9 [wcag/h37] <img> is missing required \"alt\" attribute"},
		"lines: no heading":   {Lines, "\nall is fine\n  1:1  error  x  y\n", "0/0/0"},
		"lines: heading ends": {Lines, "a.js\n  1:1  error  x  y\n\nmore\n  2:2  error  z  y\n", "0/0/0\nerror a.js:1:1 [y] x"},
		"lines: jest":         {Lines, "FAIL j/sum.test.js\n  ● sums › adds\n\n    expect(received).toBe(expected)\n\n      at Object.toBe (j/sum.test.js:2:17)\n      at run (j/other.js:9:1)\n  ● sums › b\n      at new Promise (<anonymous>)\n      at f (node_modules/x/y.js:1:1)\n      at /workspace/b.test.js:3:4\n", "0/0/0\nerror j/sum.test.js:2:17 [sums › adds] expect(received).toBe(expected)\nerror b.test.js:3:4 [sums › b] failed"},
		"lines: python":       {Lines, "Traceback (most recent call last):\n  File \"/workspace/t.py\", line 3, in test_a\n    self.assertEqual(1, 2)\n  File \"/usr/lib/python3.11/unittest/case.py\", line 9, in x\nAssertionError: 1 != 2\nValueError: not in one\n", "0/0/0\nerror t.py:3:0 [AssertionError] 1 != 2"},
		"lines: syntax":       {Lines, "  File \"a.py\", line 1\n    def f(x:\n         ^\nSyntaxError: '(' was never closed\n", "0/0/0\nerror a.py:1:0 [SyntaxError] '(' was never closed"},
		"lines: perl":         {Lines, "syntax error at lib/a.pl line 3, near \"= ;\"\nnot ok at noon line up\nGlobal symbol \"$x\" requires a name at a.pl line 12.\n", "0/0/0\nerror lib/a.pl:3:0 [] syntax error\nerror a.pl:12:0 [] Global symbol \"$x\" requires a name"},
		"lines: no places":    {Lines, "12:30:45 started\nhttp://x:80/ ok\nerror: 3:4: x\nok  \tp\t0.1s\n", "0/0/0"},
		"lines: with escapes": {Lines, "\x1b[1ma.c:3:5: \x1b[31merror: \x1b[0mbad\n", "0/0/0\nerror a.c:3:5 [] bad"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Read(c.format, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, summary(r)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRead_RefusesOtherText(t *testing.T) {
	for name, c := range map[string]struct {
		format Format
		text   string
	}{
		"junit: empty": {JUnit, ""}, "junit: text": {JUnit, "ok"}, "junit: another root": {JUnit, "<html/>"}, "junit: cut": {JUnit, "<testsuite><testcase>"},
		"junit: an entity": {JUnit, `<!DOCTYPE a [<!ENTITY b "c">]><testsuite name="&b;"/>`}, "junit: deep": {JUnit, "<testsuites>" + strings.Repeat("<testsuite>", 70)},
		"tap: text": {TAP, "hello\n"}, "tap: empty": {TAP, ""}, "sarif: text": {SARIF, "x"}, "sarif: another version": {SARIF, `{"version":"1.0","runs":[]}`}, "sarif: no runs": {SARIF, `{"version":"2.1.0"}`},
		"go test: text": {GoTest, "PASS\nok p 0.1s\n"}, "checkstyle: junit": {Checkstyle, "<testsuite/>"}, "no format": {"xml", "<a/>"}, "too large": {Lines, strings.Repeat("x", MaxBytes+1)},
	} {
		if r, err := Read(c.format, c.text); err == nil {
			t.Errorf("%s: got %s", name, summary(r))
		}
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]Format{
		"": "", "hello": "", "TAP version 13\nok": TAP, "1..2\nok 1": TAP, "<testsuites/>": JUnit, "<?xml version='1.0'?>\n<checkstyle/>": Checkstyle,
		`{"$schema":"https://x/sarif-2.1.0.json","runs":[]}`: SARIF, `{"Time":"2026","Action":"start"}`: GoTest, `{"ImportPath":"p"}`: GoTest, `{"a":1}`: "",
	} {
		if got := Detect(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestFindings_AreBounded(t *testing.T) {
	r, err := Read(Lines, strings.Repeat("a.c:1:2: error: "+strings.Repeat("é", 1500)+"\n", 60))
	if err != nil || r.Found != 60 || len(r.Findings) != MaxFindings || r.Severities[Error] != 60 || len(r.Findings[0].Message) > maxMessage+5 || !utf8.ValidString(r.Findings[0].Message) {
		t.Error(r, err)
	}
}

// TestRead_IsBounded: none of these reports, which a program can make up, takes long or much memory. Each would have
// copied or read gigabytes. With the race detector regular expressions allocate far more.
func TestRead_IsBounded(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	event := func(action, rest string) string { return `{"Action":"` + action + `",` + rest + "}\n" }
	for name, c := range map[string]struct {
		format Format
		text   string
	}{
		"many messages of a test":   {TAP, "TAP version 13\nnot ok 1 - a\n" + strings.Repeat("error: x\n", 800_000)},
		"many packages of a build":  {GoTest, event("build-output", `"ImportPath":"p","Output":"`+strings.Repeat("x ", 1<<20)+`"`) + strings.Repeat(event("fail", `"Package":"q","FailedBuild":"p"`), 90_000)},
		"many ends of a package":    {GoTest, event("output", `"Package":"q","Output":"`+strings.Repeat("x ", 1<<20)+`"`) + strings.Repeat(event("fail", `"Package":"q"`), 120_000)},
		"many results":              {SARIF, `{"version":"2.1.0","runs":[{"results":[` + strings.Repeat("{},", 1_000_000) + `{}]}]}`},
		"many locations":            {SARIF, `{"version":"2.1.0","runs":[{"results":[{"locations":[` + strings.Repeat("{},", 1_000_000) + `{}]}]}]}`},
		"many suppressions":         {SARIF, `{"version":"2.1.0","runs":[{"results":[{"suppressions":[` + strings.Repeat("[],", 1_000_000) + `{}]}]}]}`},
		"many rules":                {SARIF, `{"version":"2.1.0","runs":[{"tool":{"driver":{"rules":[` + strings.Repeat("{},", 1_000_000) + `{}]}}}]}`},
		"many runs":                 {SARIF, `{"version":"2.1.0","runs":[` + strings.Repeat("{},", 1_000_000) + `{}]}`},
		"many attributes":           {JUnit, `<testsuite><testcase ` + strings.Repeat(`a="" `, 1_000_000) + `/></testsuite>`},
		"many parts of a text":      {JUnit, `<testsuite><testcase name="a"><failure>` + strings.Repeat("x<a/>", 1_000_000) + `</failure></testcase></testsuite>`},
		"a long name, many times":   {Checkstyle, `<checkstyle><file name="` + strings.Repeat("x", 4<<20) + `">` + strings.Repeat("<error/>", 400_000) + `</file></checkstyle>`},
		"a long line":               {Lines, strings.Repeat("a.c:1:", 1<<20)},
		"many places in one line":   {Lines, strings.Repeat(strings.Repeat("a.c:1: ", 500)+"\n", 200)},
		"many tests without a name": {TAP, strings.Repeat("ok\n", 500_000)},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(c.format, c.text)
			if runtime.ReadMemStats(&after); err != nil || after.TotalAlloc-before.TotalAlloc > 2<<30 {
				t.Errorf("%v, %d MiB", err, (after.TotalAlloc-before.TotalAlloc)>>20)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	r, err := Read(TAP, "1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP\n")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"c", "d"}, r.Missing([]string{"a", "b", "c", "d", "d"})); d != "" {
		t.Error(d)
	}
}

// fuzz reads any text as a format: nothing panics, and what comes out is bounded and clean.
func fuzz(f *testing.F, format Format, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read(format, text)
		if err != nil {
			return
		}
		if len(r.Findings) > MaxFindings || r.Found < len(r.Findings) || r.Passed < 0 || r.Failed < 0 {
			t.Error(summary(r))
		}
		for _, finding := range r.Findings {
			if !clean(finding) {
				t.Errorf("%#v", finding)
			}
		}
	})
}

func clean(f sdk.Finding) bool {
	data, err := json.Marshal(f)
	return err == nil && utf8.Valid(data) && !strings.ContainsAny(f.Message+f.Path+f.Code, "\x1b\x00\r") && f.Message != "" && !strings.HasPrefix(f.Path, "/") && f.Line >= 0 &&
		len(f.Message) <= maxMessage+5
}

func FuzzRead_JUnit(f *testing.F) {
	fuzz(f, JUnit, `<testsuite><testcase name="a"><failure message="m">a.py:3: E</failure></testcase></testsuite>`)
}

func FuzzRead_TAP(f *testing.F) {
	fuzz(f, TAP, "TAP version 13\n1..2\nok 1 - a\nnot ok 2 - b # TODO\n  at: a.js:1:2\n")
}

func FuzzRead_SARIF(f *testing.F) {
	fuzz(f, SARIF, `{"version":"2.1.0","runs":[{"results":[{"ruleId":"a","message":{"text":"b"}}]}]}`)
}

func FuzzRead_GoTest(f *testing.F) {
	fuzz(f, GoTest, `{"Action":"output","Package":"p","Test":"T","Output":"    a_test.go:1: b\n"}`+"\n"+`{"Action":"fail","Package":"p","Test":"T"}`)
}

func FuzzRead_Checkstyle(f *testing.F) {
	fuzz(f, Checkstyle, `<checkstyle><file name="a"><error line="1" message="b"/></file></checkstyle>`)
}

func FuzzRead_Lines(f *testing.F) {
	fuzz(f, Lines, "a.c:1:2: error: b [c]\n", "a(1,2): error X1: b", `File "a.py", line 3`)
}
