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
	"github.com/reflectory/reflectory/sdk"
)

// MaxEvidenceBytes bounds a text of evidence: room for the most edges of a graph
// between nodes with names of up to 80 bytes.
const MaxEvidenceBytes = 16 << 20

// ReadTools reads outcomes of tools from JSON: an object, a list of objects, or
// objects one after the other, such as JSON Lines. Keys that an outcome doesn't
// have are refused, and so is what [Evidence.RecordTools] would refuse.
func ReadTools(data []byte) ([]core.ToolOutcome, error) {
	dec, err := decoder(data)
	if err != nil {
		return nil, err
	}
	isList := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("["))
	if isList {
		_, _ = dec.Token() // the bracket
	}
	var list []core.ToolOutcome
	for dec.More() {
		var o core.ToolOutcome
		if err := dec.Decode(&o); err != nil {
			return nil, notJSON(fmt.Sprintf("outcome %d", len(list)+1), "memory_id, session, turn, tool, ok, recovered, ref", err)
		}
		if list = append(list, o); len(list) > MaxToolOutcomes {
			break
		}
	}
	if err := checkTools(list, MaxToolOutcomes); err != nil {
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
		return nil, sdk.Errorf(sdk.Invalid, "evidence_invalid", "there is no outcome of a tool").
			WithHint(`write {"memory_id": ID, "session": S, "turn": N, "tool": NAME, "ok": true, "ref": WHERE}, one a line`)
	}
	return list, nil
}

// ReadDAG reads a workflow's graph from a JSON object. Keys that it doesn't have
// are refused, and so is what [Evidence.RecordDAG] would refuse.
func ReadDAG(data []byte) (*core.WorkflowDAG, error) {
	dec, err := decoder(data)
	if err != nil {
		return nil, err
	}
	// Edges are checked here: a pair in Go would take a list of any length.
	var in struct {
		core.WorkflowDAG
		Edges [][]string `json:"edges"`
	}
	if err := dec.Decode(&in); err != nil {
		return nil, notJSON("the graph", "workflow, entry, exits, edges, memories", err)
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

// decoder begins to read a text from outside.
func decoder(data []byte) (*json.Decoder, error) {
	if len(data) > MaxEvidenceBytes {
		return nil, sdk.Errorf(sdk.Exhausted, "evidence_too_large", "the evidence has %d bytes, of at most %d", len(data), MaxEvidenceBytes).
			WithHint("split it into several files")
	}
	if !utf8.Valid(data) {
		return nil, sdk.Errorf(sdk.Invalid, "evidence_invalid", "the evidence isn't UTF-8 text").
			WithHint("convert it first, for example with iconv")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec, nil
}

// notJSON says where a text isn't what it should be, and which keys there are.
func notJSON(where, keys string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the text ends too early")
	}
	problem := sdk.Errorf(sdk.Invalid, "evidence_invalid", "%s: %s", where, strings.TrimPrefix(err.Error(), "json: "))
	if keys != "" {
		problem = problem.WithHint("its keys are %s", keys)
	}
	return problem
}

func atEnd(dec *json.Decoder) error {
	if _, err := dec.Token(); err != io.EOF {
		return sdk.Errorf(sdk.Invalid, "evidence_invalid", "there is more text after the end of the JSON").
			WithHint("write one JSON value; outcomes of tools may also be one a line")
	}
	return nil
}
