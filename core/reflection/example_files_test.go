package reflection

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"
)

const exampleFolder = "../../examples/extract-repeats/"

// TestGenerator_TheExamplesFilesAreWhatIsAskedAndAnswered, which authors of generators copy.
func TestGenerator_TheExamplesFilesAreWhatIsAskedAndAnswered(t *testing.T) {
	var tasks []string
	for _, text := range objects(t, "asks.jsonl") {
		var ask Ask
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&ask); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(ask)
		if err != nil || !sameJSON(t, again, text) {
			t.Errorf("a generator is asked %s, not %s", again, text)
		}
		tasks = append(tasks, ask.Task)
	}
	answers := objects(t, "answers.jsonl")
	if len(tasks) != 2 || tasks[0] != TaskQuestions || tasks[1] != TaskInsights || len(answers) != len(tasks) {
		t.Fatalf("%d answers to %q", len(answers), tasks)
	}
	if questions, err := parseQuestions(answers[0]); err != nil || len(questions) != 1 {
		t.Errorf("%q, %v", questions, err)
	}
	if items, bad, err := parseItems(answers[1]); err != nil || bad != 0 || len(items) != 2 || items[0].procedure || !items[1].procedure {
		t.Errorf("%+v, %v", items, err)
	}
}

// objects are the JSON objects of a file of the example.
func objects(t *testing.T, name string) (list []json.RawMessage) {
	t.Helper()
	text, err := os.ReadFile(exampleFolder + name)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var object json.RawMessage
		switch err := d.Decode(&object); {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			t.Fatal(err)
		}
		list = append(list, object)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y bytes.Buffer
	if err := errors.Join(json.Compact(&x, a), json.Compact(&y, b)); err != nil {
		t.Fatal(err)
	}
	return x.String() == y.String()
}
