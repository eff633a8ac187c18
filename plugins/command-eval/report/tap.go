package report

import (
	"errors"
	"regexp"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

var (
	tapPlan  = regexp.MustCompile(`^1\.\.(\d{1,9})\s*(#\s*(?i:skip).*)?$`)
	tapPoint = regexp.MustCompile(`^(not )?ok\b *(\d{0,9}) *-? *([^#]*)(?:#\s*(?i:(skip|todo))\S*\s*(.*))?`)
	tapDirty = regexp.MustCompile(`^\s+(?:at|location):\s*['"]?(?:.*\()?(?:file://)?([^()'"]+?):(\d+)(?::(\d+))?\)?['"]?$`)
)

// readTAP reads the Test Anything Protocol, versions 13 and 14. Only its top level counts: a
// subtest has a line there. A test that is to do counts as skipped.
func readTAP(r *Report, text string) error {
	r.Tests = true
	plan, points, started := -1, 0, false
	var last *sdk.Finding
	flush := func() {
		if last != nil {
			r.add(*last)
		}
		last = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := tapDirty.FindStringSubmatch(line); m != nil && last != nil && last.Line == 0 {
			last.Path, last.Line, last.Column = m[1], atoi(m[2]), atoi(m[3])
			continue
		}
		if error, is := strings.CutPrefix(strings.TrimSpace(line), "error: "); is && last != nil && len(last.Message) < maxMessage {
			last.Message += ": " + strings.Trim(error, `'"`)
			continue
		}
		if m := tapPlan.FindStringSubmatch(line); m != nil {
			plan, started = atoi(m[1]), true
			continue
		}
		if strings.HasPrefix(line, "Bail out!") {
			flush()
			r.test("", false, false)
			r.add(sdk.Finding{Message: line, Code: "bail_out"})
			continue
		}
		m := tapPoint.FindStringSubmatch(line)
		if m == nil {
			started = started || strings.HasPrefix(line, "TAP version")
			continue
		}
		flush()
		started = true
		points++
		name := strings.TrimSpace(m[3])
		r.test(name, m[1] == "", m[4] != "")
		if m[1] != "" && m[4] == "" {
			last = &sdk.Finding{Message: name + " failed", Code: name}
		}
	}
	flush()
	switch {
	case !started:
		return errors.New("it has no line of TAP")
	case plan >= 0 && plan != points:
		r.test("", false, false)
		r.add(sdk.Finding{Message: "the plan has another number of tests than ran", Code: "plan"})
	}
	return nil
}
