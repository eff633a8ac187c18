package report

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// goEvent is a line of go test -json (go doc test2json).
type goEvent struct{ Action, Package, ImportPath, Test, Output, FailedBuild string }

// goPlace is where a test says that it failed.
var goPlace = regexp.MustCompile(`^\s+([\w./-]+\.go):(\d+): (.*)`)

// maxTestOutput is the output that is kept for a test, to find its message.
const maxTestOutput = 64 << 10

// readGoTest reads go test -json. A package that fails without a failed test (it doesn't build, or
// its process ended) counts as one failed test. A test with subtests is one of them.
func readGoTest(r *Report, text string) error {
	output := map[string]string{}
	failed := map[string]bool{} // packages with a failed test
	events := 0
	for line := range strings.Lines(text) {
		var e goEvent
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
			continue
		}
		events++
		key := e.Package + e.ImportPath + "\x00" + e.Test
		switch e.Action {
		case "output", "build-output":
			if len(output[key]) < maxTestOutput {
				output[key] += e.Output
			}
		case "pass", "fail", "skip":
			r.goTest(&e, output, failed)
			delete(output, key)
		}
	}
	r.Tests = true
	if events == 0 {
		return errors.New("it has no line of go test -json")
	}
	return nil
}

func (r *Report) goTest(e *goEvent, output map[string]string, failed map[string]bool) {
	text := output[e.Package+"\x00"+e.Test]
	switch {
	case e.Test != "":
		r.test(e.Package+"."+e.Test, e.Action == "pass", e.Action == "skip")
		if e.Action != "fail" {
			return
		}
		failed[e.Package] = true
		r.add(goFinding(e, text))
	case e.Action == "fail" && !failed[e.Package]:
		r.test("", false, false)
		build := output[e.FailedBuild+"\x00"]
		delete(output, e.FailedBuild+"\x00") // many packages may fail by one build
		before := r.Found
		_ = readLines(r, build) // never fails
		if r.Found == before {
			r.add(sdk.Finding{Message: "package " + e.Package + " failed: " + tail(build+text, 500), Code: "package"})
		}
	}
}

// goFinding is a failed test with its first message that names a place.
func goFinding(e *goEvent, text string) sdk.Finding {
	f := sdk.Finding{Message: e.Test + " failed", Code: e.Test}
	var rest strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := goPlace.FindStringSubmatch(line); m != nil && f.Line == 0 {
			f.Path, f.Line = m[1], atoi(m[2])
			rest.Reset()
			rest.WriteString(m[3])
			continue
		}
		if strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		rest.WriteString("\n" + line)
	}
	if message := strings.TrimSpace(rest.String()); message != "" {
		f.Message = e.Test + ": " + message
	}
	return f
}

// atoi is a number from 1, 0 if a text is none.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1<<30 {
		return 0
	}
	return n
}

func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	return strings.ToValidUTF8(s[max(0, len(s)-n):], "")
}
