package llmtest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
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
	for i, part := range strings.Split("\n"+text, "\n== ") {
		if i == 0 { // what the suite is
			continue
		}
		head, body, _ := strings.Cut(part+"\n", "\n\n")
		name, fields, _ := strings.Cut(head, "\n")
		f := Fault{Name: strings.TrimSpace(name), body: strings.TrimRight(body, "\n"), reply: Body(http.StatusOK, "application/json", "")}
		for line := range strings.Lines(fields) {
			key, value, is := strings.Cut(strings.TrimSpace(line), ": ")
			switch key {
			case "then":
				f.Then = value
			case "says":
				f.Says = value
			case "status":
				f.reply.Code, err = strconv.Atoi(value)
			case "cut":
				f.reply.Cut = value == "true"
			default:
				f.reply = f.reply.Header(key, value)
			}
			if !is || err != nil {
				return nil, fmt.Errorf("fault %s: the line %q is no field: %w", f.Name, line, err)
			}
		}
		if f.Name == "" || f.Then == "" {
			return nil, fmt.Errorf("fault %d (%s) lacks its name or what comes of it", i, f.Name)
		}
		if strings.HasPrefix(f.body, "data: ") { // the last event ends too
			f.body += "\n\n"
		}
		list = append(list, f)
	}
	return list, nil
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
