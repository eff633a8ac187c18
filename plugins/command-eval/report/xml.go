package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// maxDepth is how deep elements of a report may be nested.
const maxDepth = 64

// walk reads the elements of an XML text. Entities other than XML's own are refused, so a text
// can't grow.
func walk(text, root string, start func(xml.StartElement) error, content func(string), end func(name string)) error {
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") || strings.EqualFold(charset, "iso-8859-1") {
			return in, nil // invalid characters are replaced
		}
		return nil, fmt.Errorf("the character set %q isn't read", charset)
	}
	depth, seen := 0, false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if !seen {
				return fmt.Errorf("it has no element %q", root)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is not XML: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return errors.New("its elements are nested too deep")
			}
			if depth == 1 && !strings.HasPrefix(t.Name.Local, root) {
				return fmt.Errorf("its first element is %.50q, not %q", t.Name.Local, root)
			}
			seen = true
			if err := start(t); err != nil {
				return err
			}
		case xml.CharData:
			content(string(t))
		case xml.EndElement:
			depth--
			end(t.Name.Local)
		}
	}
}

func attr(e xml.StartElement, names ...string) string {
	for _, name := range names {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
	}
	return ""
}

// junitCase is a testcase that is being read.
type junitCase struct {
	name, file string
	line       int
	skipped    bool
	failure    *sdk.Finding
	text       strings.Builder
}

// readJUnit reads JUnit's XML, which many runners write. It has no standard: test cases are
// counted, and the counts in its attributes are ignored.
func readJUnit(r *Report, text string) error {
	r.Tests = true
	var c *junitCase
	inside := false // a failure
	return walk(text, "testsuite", func(e xml.StartElement) error {
		switch e.Name.Local {
		case "testcase":
			c = &junitCase{name: strings.TrimPrefix(attr(e, "classname")+"."+attr(e, "name"), "."), file: attr(e, "file"), line: atoi(attr(e, "line"))}
		case "failure", "error":
			if c != nil && c.failure == nil {
				c.failure = &sdk.Finding{Message: attr(e, "message"), Code: c.name}
				inside = true
			} else if c == nil {
				r.test("", false, false) // a suite that failed as a whole
				r.add(sdk.Finding{Message: attr(e, "message"), Code: e.Name.Local})
			}
		case "skipped":
			if c != nil {
				c.skipped = true
			}
		}
		return nil
	}, func(content string) {
		if inside && c != nil && c.text.Len() < maxTestOutput {
			c.text.WriteString(content)
		}
	}, func(name string) {
		switch name {
		case "failure", "error":
			inside = false
		case "testcase":
			if c != nil {
				r.junit(c)
			}
			c = nil
		}
	})
}

func (r *Report) junit(c *junitCase) {
	r.test(c.name, c.failure == nil, c.skipped && c.failure == nil)
	if c.failure == nil {
		return
	}
	f := *c.failure
	f.Path, f.Line = c.file, c.line
	details := Plain(c.text.String())
	// A trace has the place of the failure itself, which is more exact than the test's, and places in libraries.
	for line := range strings.Lines(details) {
		if at, is := place(line); is && inWorkspace(at.Path) && (c.file == "" || filePath(at.Path) == filePath(c.file)) {
			f.Path, f.Line, f.Column = at.Path, at.Line, at.Column
			break
		}
	}
	if f.Message == "" {
		f.Message = strings.TrimSpace(details)
	}
	f.Message = c.name + ": " + f.Message
	r.add(f)
}

// readCheckstyle reads checkstyle's XML, which linters of many languages write.
func readCheckstyle(r *Report, text string) error {
	file := ""
	return walk(text, "checkstyle", func(e xml.StartElement) error {
		switch e.Name.Local {
		case "file":
			file = attr(e, "name")
		case "error":
			r.add(sdk.Finding{
				Message: attr(e, "message"), Path: file, Line: atoi(attr(e, "line")), Column: atoi(attr(e, "column")),
				Code: attr(e, "source"), Severity: attr(e, "severity"),
			})
		}
		return nil
	}, func(string) {}, func(string) {})
}
