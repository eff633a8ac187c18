package report

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// The forms in which compilers and linters name a place.
var (
	// path:line[:column]: [severity:] message, as gcc, go, mypy, flake8 and most others.
	linePlain = regexp.MustCompile(`^(?:vet: )?([^\s:()][^:()]{0,400}):(\d{1,9})(?::(\d{1,9}))?:? +(?:\[?((?i)fatal error|error|warning|note|info|style)\]?:? +)?(\S.*)$`)
	// path(line,column): severity RULE: message, as tsc and msbuild.
	lineParens = regexp.MustCompile(`^([^\s()][^()]{0,400})\((\d{1,9})(?:,(\d{1,9}))?\): *((?i)error|warning|info) *([A-Z]*\d*): *(\S.*)$`)
	// File "x.py", line 3: a frame of a Python traceback.
	linePython = regexp.MustCompile(`^\s*File "([^"]{1,400})", line (\d{1,9})`)
	// message at path line 3, as perl.
	linePerl = regexp.MustCompile(`^(\S.{0,1000}?) at (\S{1,400}) line (\d{1,9})[.,]`)

	// A path alone, and lines below it: line:column severity message rule, as eslint, stylelint and html-validate.
	headPath  = regexp.MustCompile(`^(\S{1,400}\.\w{1,10})$`)
	lineBelow = regexp.MustCompile(`^ +(\d{1,9}):(\d{1,9}) +(error|warning|✖|⚠) +(\S.*?)(?:  +(\S+))?$`)

	// ● test, its message, and the stack, as jest.
	headTest  = regexp.MustCompile(`^ *● (\S.{0,400})$`)
	lineStack = regexp.MustCompile(`^ +at (?:.*\()?((?:/|\w)[^():]{0,400}):(\d{1,9}):(\d{1,9})\)?$`)

	// ValueError: message, after the frames of a Python traceback.
	lineRaised = regexp.MustCompile(`^([A-Za-z_.]{1,100}(?:Error|Exception|Exit|Warning|Interrupt))(?:: (.*))?$`)

	ruleBefore = regexp.MustCompile(`^([A-Z]{1,4}\d{1,5}):? +(\S.*)$`)
	ruleAfter  = regexp.MustCompile(`^(.*\S)\s+[\[(]([-\w./@=+]{2,60})[\])]$`)
)

// maxLine is the length of a line that is looked at.
const maxLine = 4000

// readLines reads the messages of compilers and linters: path:line:column: message, and the other forms above.
func readLines(r *Report, text string) error {
	l := linesReader{}
	for line := range strings.Lines(text) {
		if len(line) <= maxLine {
			l.read(r, strings.TrimRight(Plain(line), "\n"))
		}
	}
	return nil
}

// linesReader keeps what lines above say of the next ones.
type linesReader struct {
	path          string      // a path alone
	frame         sdk.Finding // of a Python traceback
	test, message string      // of a failed test whose stack follows
}

func (l *linesReader) read(r *Report, line string) {
	if f, is := place(line); is && f.Message != "" {
		r.add(f)
		return
	}
	switch below, stack, raised := lineBelow.FindStringSubmatch(line), lineStack.FindStringSubmatch(line), lineRaised.FindStringSubmatch(line); {
	case below != nil && l.path != "":
		severity := map[string]string{"✖": Error, "⚠": Warning}[below[3]]
		r.add(sdk.Finding{Path: l.path, Line: atoi(below[1]), Column: atoi(below[2]), Severity: cmp.Or(severity, below[3]), Message: below[4], Code: below[5]})
		return
	case stack != nil && l.test != "" && !strings.Contains(stack[1], "node_modules/"):
		r.add(sdk.Finding{Path: stack[1], Line: atoi(stack[2]), Column: atoi(stack[3]), Message: cmp.Or(l.message, "failed"), Code: l.test})
		l.test = ""
	case raised != nil && l.frame.Path != "":
		l.frame.Code, l.frame.Message = raised[1], cmp.Or(raised[2], raised[1])
		r.add(l.frame)
		l.frame = sdk.Finding{}
	}
	l.remember(line)
}

// remember keeps what a line says of the ones below it.
func (l *linesReader) remember(line string) {
	l.path = ""
	if m := headPath.FindStringSubmatch(line); m != nil {
		l.path = m[1]
	}
	if m := headTest.FindStringSubmatch(line); m != nil {
		l.test, l.message = m[1], ""
	} else if l.message == "" && !strings.HasPrefix(strings.TrimSpace(line), "at ") {
		l.message = strings.TrimSpace(line)
	}
	if f, is := place(line); is && inWorkspace(f.Path) {
		l.frame = f
	}
}

// place reads a line that names a place.
func place(line string) (sdk.Finding, bool) {
	line = strings.TrimRight(Plain(line), "\n")
	if m := linePerl.FindStringSubmatch(line); m != nil && strings.ContainsAny(m[2], "./") {
		return sdk.Finding{Path: m[2], Line: atoi(m[3]), Message: m[1]}, true
	}
	if m := lineParens.FindStringSubmatch(line); m != nil {
		return sdk.Finding{Path: m[1], Line: atoi(m[2]), Column: atoi(m[3]), Severity: m[4], Code: m[5], Message: m[6]}, true
	}
	if m := linePython.FindStringSubmatch(line); m != nil {
		return sdk.Finding{Path: m[1], Line: atoi(m[2])}, true
	}
	m := linePlain.FindStringSubmatch(line)
	if m == nil || !strings.ContainsAny(m[1], "./") && m[1] != "Makefile" {
		return sdk.Finding{}, false
	}
	f := sdk.Finding{Path: m[1], Line: atoi(m[2]), Column: atoi(m[3]), Severity: strings.TrimPrefix(strings.ToLower(m[4]), "fatal "), Message: m[5]}
	if rule := ruleBefore.FindStringSubmatch(f.Message); rule != nil {
		f.Code, f.Message = rule[1], rule[2]
	} else if rule := ruleAfter.FindStringSubmatch(f.Message); rule != nil {
		f.Message, f.Code = rule[1], rule[2]
	}
	return f, true
}
