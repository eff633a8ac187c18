package commandeval

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/reflectory/reflectory/sdk"
)

// codeAttempt is the code of a finding about the output itself: it can't be put into the
// workspace.
const codeAttempt = "attempt"

// input is what a generator or corrector reads on its standard input, as JSON, unless stdin: is
// given.
type input struct {
	Iteration int             `json:"iteration"`
	State     json.RawMessage `json:"state,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
	Errors    []sdk.Finding   `json:"errors,omitempty"`
	Feedback  string          `json:"feedback,omitempty"`
}

// request is what the host is asked to run. An output that can't be put is a finding.
func (c *command) request(output json.RawMessage, in *input) (*sdk.ExecRequest, *sdk.Finding) {
	r := &sdk.ExecRequest{
		Run: c.Run, Shell: c.Shell, Env: c.Env, Report: c.ReportFile, TimeoutMS: c.Timeout.Milliseconds(), Limits: c.Limits, Caches: c.Caches,
		Workspace: sdk.ExecWorkspace{From: c.From, MayChange: c.MayChange, Protect: c.Protect},
	}
	put := &r.Workspace.Put
	if output == nil { // a generator has none to put
		r.Stdin = c.stdin(in)
		return r, nil
	}
	switch {
	case c.PutFile != "":
		put.File, put.Text = c.PutFile, textOf(output)
	case c.Put == putDiff:
		if put.Diff = textOf(output); put.Diff == "" {
			return nil, &sdk.Finding{Message: "the output is empty, not a diff", Code: codeAttempt}
		}
	case c.Put == putFiles:
		files, err := filesOf(output)
		if err != nil {
			return nil, &sdk.Finding{Message: "the output is not an object of texts by path: " + err.Error(), Code: codeAttempt}
		}
		put.Files = files
	case c.Put == putStdin:
		r.Stdin = textOf(output)
		return r, nil
	}
	r.Stdin = c.stdin(in)
	return r, nil
}

func (c *command) stdin(in *input) string {
	if c.Stdin != nil {
		return *c.Stdin
	}
	if in.Output != nil && in.Errors == nil && (c.PutFile != "" || c.Put != "") {
		in = &input{Iteration: in.Iteration, State: in.State} // the output is in the workspace
	}
	text, err := json.Marshal(in)
	if err != nil { // the state or the output is no JSON, which the host never sends
		return "{}"
	}
	return string(text)
}

// textOf is a text output, or else the JSON of a value.
func textOf(output json.RawMessage) string {
	var text string
	if json.Unmarshal(output, &text) == nil {
		return text
	}
	return string(output)
}

// filesOf reads texts by path, from an object or from a text that has one. A path that is there
// twice is refused: readers differ on which one counts.
func filesOf(output json.RawMessage) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(textOf(output))))
	files := map[string]string{}
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("it doesn't begin with {")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		var text *string
		if err := d.Decode(&text); err != nil || text == nil {
			return nil, fmt.Errorf("%.200q has no text", name)
		}
		if _, has := files[name]; has {
			return nil, fmt.Errorf("%.200q is in it twice", name)
		}
		files[name] = *text
	}
	if _, err := d.Token(); err != nil || d.More() {
		return nil, fmt.Errorf("it doesn't end with }")
	}
	return files, nil
}
