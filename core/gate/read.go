package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// MaxEvidenceBytes bounds the text of evidence: room for a graph with the most edges
// between nodes with names of up to 80 bytes.
const MaxEvidenceBytes = 16 << 20

// ReadTools reads outcomes of tools from JSON: an object, a list of objects, or several
// objects in a row, such as JSON Lines. It refuses unknown keys, and everything that
// [Evidence.RecordTools] would refuse.
func ReadTools(data []byte) ([]core.ToolOutcome, error) {
	dec, err := newDecoder(data)
	if err != nil {
		return nil, err
	}
	isList := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("["))
	if isList {
		_, _ = dec.Token() // the bracket
	}
	var list []core.ToolOutcome
	var wrong problems // of outcomes that can't be read
	for dec.More() {
		where := fmt.Sprintf("outcome %d", len(list)+1)
		o, unread, err := readTool(dec)
		if err != nil {
			return nil, notJSON(where, toolKeys, err)
		}
		if unread != nil {
			wrong.addError(inField(fmt.Sprintf("outcomes[%d]", len(list)), notJSON(where, toolKeys, unread)))
		}
		if list = append(list, o); len(list) > MaxToolOutcomes {
			break
		}
	}
	if err := core.JoinErrors(CheckTools(list), wrong.err()); err != nil {
		return nil, err
	}
	if isList {
		if _, err := dec.Token(); err != nil {
			return nil, notJSON("the list of outcomes", "", err)
		}
	}
	if err := atEnd(dec); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, sdk.Errorf(sdk.Invalid, "evidence_invalid", "there is no tool outcome").
			WithHint(`write {"memory_id": ID, "session": S, "turn": N, "tool": NAME, "ok": true, "ref": WHERE}, one a line`)
	}
	return list, nil
}

// toolKeys are the keys of an outcome.
const toolKeys = "memory_id, session, turn, tool, ok, recovered, ref"

// readTool reads an outcome. unread is what is wrong with it, and err ends the whole text. An outcome
// without "ok" or "turn" would otherwise count as a failure, or as turn 0.
func readTool(dec *decoder) (o core.ToolOutcome, unread, err error) {
	var in struct {
		core.ToolOutcome
		Turn *int64 `json:"turn"`
		OK   *bool  `json:"ok"`
	}
	var text json.RawMessage
	start := dec.InputOffset()
	if err := dec.Decode(&text); err != nil {
		return o, nil, dec.onLine(start, err)
	}
	start = dec.InputOffset() - int64(len(text))
	if key := jsontext.RepeatedKey(text); key != "" {
		return core.ToolOutcome{MemoryID: "m", Session: "s", Tool: "t"}, dec.onLine(start, fmt.Errorf("the key %q is there twice", core.Cut(key))), nil
	}
	members := jsontext.Members(text)
	for i := range members {
		if whole, is := sdk.WholeNumber(members[i].Value); is && members[i].Key == "turn" { // such as 5.0
			members[i].Value, text = whole, nil
		}
	}
	if text == nil {
		text = jsontext.JoinMembers(members)
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&in); err != nil {
		return core.ToolOutcome{MemoryID: "m", Session: "s", Tool: "t"}, dec.onLine(start, err), nil // what can't be read has no other faults
	}
	o = in.ToolOutcome
	switch {
	case in.Turn == nil:
		return o, errors.New("turn is missing"), nil
	case in.OK == nil:
		return o, errors.New("ok is missing"), nil
	}
	o.Turn, o.OK = *in.Turn, *in.OK
	return o, nil, nil
}

// ReadDAG reads a workflow's graph from a JSON object. It refuses unknown keys, and
// everything that [Evidence.RecordDAG] would refuse.
func ReadDAG(data []byte) (*core.WorkflowDAG, error) {
	dec, err := newDecoder(data)
	if err != nil {
		return nil, err
	}
	// The length of edges is checked below: an array of two in Go would accept a list of
	// any length.
	var in struct {
		core.WorkflowDAG
		Edges [][]string `json:"edges"`
	}
	if err := dec.Decode(&in); err != nil {
		return nil, notJSON("the graph", "workflow, entry, exits, edges, memories", dec.onLine(0, err))
	}
	if err := atEnd(dec); err != nil {
		return nil, err
	}
	dag := in.WorkflowDAG
	dag.Edges = make([][2]string, len(in.Edges))
	for i, edge := range in.Edges {
		if len(edge) != 2 {
			return nil, sdk.Errorf(sdk.Invalid, "evidence_invalid", "edge %d has %d nodes", i+1, len(edge)).
				WithHint(`an edge is a pair of nodes: ["from", "to"]`)
		}
		dag.Edges[i] = [2]string(edge)
	}
	if _, err := checkDAG(&dag); err != nil {
		return nil, err
	}
	return &dag, nil
}

// decoder reads an untrusted text, and knows its lines.
type decoder struct {
	*json.Decoder
	data []byte
}

// newDecoder begins to read an untrusted text.
func newDecoder(data []byte) (*decoder, error) {
	if len(data) > MaxEvidenceBytes {
		return nil, sdk.Errorf(sdk.Exhausted, "evidence_too_large", "the evidence has %d bytes (limit %d)", len(data), MaxEvidenceBytes).
			WithHint("split it into several files")
	}
	if !utf8.Valid(data) {
		return nil, sdk.Errorf(sdk.Invalid, "evidence_invalid", "the evidence isn't UTF-8 text").
			WithHint("convert it first, for example with iconv")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return &decoder{dec, data}, nil
}

// onLine describes what is wrong with the value that starts at a byte, in JSON's terms, and on
// which line of the whole text.
func (d *decoder) onLine(start int64, err error) error {
	at := min(start+faultIn(d.data[start:], err), int64(len(d.data)))
	line := 1 + bytes.Count(d.data[:at], []byte("\n"))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the text ends too early")
	}
	return fmt.Errorf("%w (line %d)", jsontext.Problem(err), line)
}

// faultIn is the position of a decoding error in a text, as exactly as it is known.
func faultIn(text []byte, err error) int64 {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	_, unknown, _ := strings.Cut(err.Error(), "unknown field ")
	switch {
	case errors.As(err, &wrong):
		return wrong.Offset
	case errors.As(err, &syntax): // counted from wherever the decoder began: look again
		value := bytes.TrimLeft(text, ", \t\r\n")
		if errors.As(json.Unmarshal(value, new(json.RawMessage)), &syntax) {
			return int64(len(text)-len(value)) + max(0, syntax.Offset-1)
		}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return int64(len(bytes.TrimRight(text, " \t\r\n")))
	case unknown != "":
		return max(0, int64(bytes.Index(text, []byte(unknown))))
	}
	return int64(len(text) - len(bytes.TrimLeft(text, ", \t\r\n")))
}

// notJSON is the error for a text that isn't as expected, with the keys that are allowed.
func notJSON(where, keys string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the text ends too early")
	}
	problem := sdk.Errorf(sdk.Invalid, "evidence_invalid", "%s: %w", where, jsontext.Problem(err))
	if keys != "" {
		problem = problem.WithHint("its keys are %s", keys)
	}
	return problem
}

func atEnd(dec *decoder) error {
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return sdk.Errorf(sdk.Invalid, "evidence_invalid", "there is more text after the end of the JSON").
			WithHint("write one JSON value; outcomes of tools may also be written one per line")
	}
	return nil
}
