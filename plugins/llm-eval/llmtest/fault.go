package llmtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is a reply that is no answer, of a suite such as testdata/endpoints/faults.txt, which describes the form.
type Fault struct {
	Name string
	// Then is what a client does: "again" if it asks again, "none" if the text is no answer, or the code of its error.
	Then string
	// Says is what the error has to quote of the reply; "" is nothing.
	Says string

	body  string
	reply Reply
}

// Faults reads a suite.
func Faults(text string) (list []Fault, err error) {
	err = sections(text, func(name, body string, fields map[string]string, reply Reply) error {
		f := Fault{Name: name, Then: fields["then"], Says: fields["says"], body: body, reply: reply}
		if f.Then == "" {
			return fmt.Errorf("%s: what comes of it is missing", name)
		}
		list = append(list, f)
		return nil
	}, "then", "says")
	return list, err
}

// Shape is an answer in the shape that an endpoint documents, of a set such as testdata/endpoints/shapes.txt, which
// describes the form.
type Shape struct {
	Name, Path, Gives, Thought string
	// In and Out are the tokens; 0 if it counts none.
	In, Out int64
	Reply   Reply
}

// Shapes reads a set. Each has its source, and when that was read.
func Shapes(text string) (list []Shape, err error) {
	err = sections(text, func(name, body string, fields map[string]string, reply Reply) error {
		s := Shape{Name: name, Path: fields["path"], Gives: fields["gives"], Thought: fields["thought"], Reply: reply}
		s.Reply.Body = body
		if _, err := time.Parse(time.DateOnly, fields["read"]); err != nil || !strings.HasPrefix(fields["source"], "https://") {
			return fmt.Errorf("%s: its source or the date is missing: %w", name, err)
		}
		if usage := fields["usage"]; usage != "" {
			if _, err := fmt.Sscan(usage, &s.In, &s.Out); err != nil {
				return fmt.Errorf("%s: usage: %w", name, err)
			}
		}
		list = append(list, s)
		return nil
	}, "source", "read", "path", "gives", "thought", "usage")
	return list, err
}

// sections reads the parts of a set: each has a name, fields of these names, headers, and a body.
func sections(text string, each func(name, body string, fields map[string]string, reply Reply) error, names ...string) (err error) {
	for i, part := range strings.Split("\n"+text, "\n== ") {
		if i == 0 { // what the set is
			continue
		}
		head, body, _ := strings.Cut(part+"\n", "\n\n")
		name, lines, _ := strings.Cut(head, "\n")
		if body = strings.TrimRight(body, "\n"); strings.Contains("\n"+body, "\ndata: ") { // the last event ends too
			body += "\n\n"
		}
		fields, reply := map[string]string{}, Body(http.StatusOK, "application/json", "")
		for line := range strings.Lines(lines) {
			key, value, is := strings.Cut(strings.TrimSpace(line), ": ")
			switch {
			case slices.Contains(names, key):
				fields[key] = value
			case key == "status":
				reply.Code, err = strconv.Atoi(value)
			case key == "cut":
				reply.Cut = value == "true"
			default:
				reply = reply.Header(key, value)
			}
			if !is || err != nil {
				return fmt.Errorf("%s: the line %q is no field: %w", name, line, err)
			}
		}
		if err := each(strings.TrimSpace(name), body, fields, reply); err != nil {
			return err
		}
	}
	return nil
}

// Quotes reports whether the reply quotes what the client sent.
func (f *Fault) Quotes() bool { return strings.Contains(f.body, "{{quoted}}") }

// Reply is the fault for a client to whose question this is a whole answer, and quoted a text that quotes one.
func (f *Fault) Reply(answer, quoted string) Reply {
	within := func(text string) string { // a string of JSON
		encoded := encode(text)
		return encoded[1 : len(encoded)-1]
	}
	r := f.reply
	r.Body = strings.NewReplacer("{{answer}}", within(answer), "{{half}}", within(answer[:len(answer)/2]), "{{quoted}}", within(quoted)).Replace(f.body)
	return r
}
