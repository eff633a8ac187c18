// Package report reads what test runners, compilers and linters report: how many tests passed and
// failed, and findings with file, line and rule.
//
// One small reader for each format turns its text into a [Report]. The text may have been written
// by the code under test: every reader is bounded in size, depth and number, and none trusts a
// count that it can make itself.
//
// It is internal to Reflectory: its API may change in any release.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk"
)

// Format names a form of reports.
type Format string

// The formats that [Read] reads.
const (
	JUnit      Format = "junit"
	TAP        Format = "tap"
	SARIF      Format = "sarif"
	GoTest     Format = "go-test"
	Checkstyle Format = "checkstyle"
	Lines      Format = "lines"
)

// Formats lists the formats.
func Formats() []Format { return []Format{JUnit, TAP, SARIF, GoTest, Checkstyle, Lines} }

// Limits of a report.
const (
	// MaxBytes is the size of a report that is read: what the host hands over at most.
	MaxBytes = 8 << 20
	// MaxNames are the names of tests that are kept, MaxFindings the findings.
	MaxNames    = 100_000
	MaxFindings = 50
	// maxMessage is the length of a finding's message in bytes, and maxWord of its path and rule.
	maxMessage = 2000
	maxWord    = 500
	// maxEscaped is how much of a text is searched for terminal escapes, in bytes.
	maxEscaped = 16 << 10
)

// The severities of findings, as in [sdk.Finding].
const (
	Error   = "error"
	Warning = "warning"
	Info    = "info"
)

// Report is what a program reported.
type Report struct {
	// Tests is whether the format counts tests. Others have findings only.
	Tests                   bool
	Passed, Failed, Skipped int
	// Findings are the first [MaxFindings], of all in Found.
	Findings []sdk.Finding
	Found    int
	// Worst is the number of findings of each severity.
	Severities map[string]int
	// Names are the tests that passed or failed, up to [MaxNames].
	Names map[string]bool
}

var errTooLarge = errors.New("it is too large")

// Read reads a report. An error says why the text is no report of the format.
func Read(format Format, text string) (*Report, error) {
	read := map[Format]func(*Report, string) error{
		JUnit: readJUnit, TAP: readTAP, SARIF: readSARIF, GoTest: readGoTest, Checkstyle: readCheckstyle, Lines: readLines,
	}[format]
	if read == nil {
		return nil, fmt.Errorf("%q is no format of reports", format)
	}
	if len(text) > MaxBytes {
		return nil, errTooLarge
	}
	r := &Report{Severities: map[string]int{}, Names: map[string]bool{}}
	if err := read(r, text); err != nil {
		return nil, err
	}
	return r, nil
}

var (
	checkstyleStart = regexp.MustCompile(`^\s*(<\?xml[^>]*>)?\s*<checkstyle`)
	junitStart      = regexp.MustCompile(`^\s*(<\?xml[^>]*>)?\s*<testsuite`)
	tapStart        = regexp.MustCompile(`^(TAP version 1[34]|1\.\.\d+)`)
)

// Detect is the format that a text seems to have, "" if none.
func Detect(text string) Format {
	start := strings.TrimSpace(text[:min(len(text), 1000)])
	switch {
	case checkstyleStart.MatchString(start):
		return Checkstyle
	case junitStart.MatchString(start):
		return JUnit
	case tapStart.MatchString(start):
		return TAP
	case strings.HasPrefix(start, "{") && strings.Contains(text, `"runs"`) && strings.Contains(start, "sarif"):
		return SARIF
	case strings.HasPrefix(start, `{"Time":`) || strings.HasPrefix(start, `{"ImportPath":`) || strings.HasPrefix(start, `{"Action":"start"`):
		return GoTest
	}
	return ""
}

// add keeps a finding. Its texts are cleaned: they may hold anything.
func (r *Report) add(f sdk.Finding) {
	f.Severity = severity(f.Severity)
	r.Found++
	r.Severities[f.Severity]++
	if len(r.Findings) >= MaxFindings {
		return
	}
	// They are cut first: a report can name the same long file for each of its findings.
	f.Message = cmp.Or(clip(Plain(clip(f.Message, maxEscaped)), maxMessage), "no message")
	f.Code = clip(oneLine(clip(f.Code, maxEscaped)), maxWord)
	f.Path = filePath(clip(f.Path, maxEscaped))
	f.Line, f.Column = max(0, f.Line), max(0, f.Column)
	r.Findings = append(r.Findings, f)
}

// test counts a test.
func (r *Report) test(name string, ok, skipped bool) {
	r.Tests = true
	switch {
	case skipped:
		r.Skipped++
		return
	case ok:
		r.Passed++
	default:
		r.Failed++
	}
	if name = clip(oneLine(name), maxWord); name != "" && len(r.Names) < MaxNames {
		r.Names[name] = true
	}
}

// Missing are the names of a baseline that no test had, sorted.
func (r *Report) Missing(baseline []string) []string {
	missing := map[string]bool{}
	for _, name := range baseline {
		if !r.Names[name] {
			missing[name] = true
		}
	}
	return slices.Sorted(maps.Keys(missing))
}

// severity is one of three words for what programs call it.
func severity(word string) string {
	switch strings.ToLower(word) {
	case "warning", "warn", "refactor":
		return Warning
	case "info", "note", "none", "style", "convention", "ignore", "hint", "information":
		return Info
	}
	return Error
}

// filePath is a path in the workspace: no "./", and nothing outside it.
func filePath(name string) string {
	name = strings.TrimPrefix(oneLine(name), "file://")
	name = strings.TrimPrefix(name, Root)
	if name == "" {
		return ""
	}
	return clip(strings.TrimLeft(path.Clean(name), "/"), maxWord)
}

// Root is where the workspace is for the program, which begins the absolute paths of reports.
const Root = "/workspace/"

// inWorkspace is whether a path is no absolute one of elsewhere, such as a library's, and none of an interpreter, such
// as <frozen importlib._bootstrap>.
func inWorkspace(name string) bool {
	return !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "<") || strings.HasPrefix(name, Root)
}

var escapes = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(\x07|\x1b\\\\)?|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]")

// Plain is a text without terminal escapes and other characters that can't be seen.
func Plain(text string) string {
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' {
			return c
		}
		if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) {
			return -1
		}
		return c
	}, text)
}

func oneLine(text string) string { return strings.Join(strings.Fields(Plain(text)), " ") }

// clip cuts a text to n bytes, between characters.
func clip(text string, n int) string {
	text = strings.TrimSpace(text)
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
