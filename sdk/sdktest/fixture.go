package sdktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// Limits for fixtures, since a package's folder comes from outside.
const (
	// MaxFixtures is how many fixtures a plugin may have.
	MaxFixtures = 200
	// MaxFixtureBytes is the largest size of one fixture: half of the contract's limit
	// for a message (8 MiB).
	MaxFixtureBytes = 4 << 20
)

// Fixture is one file tests/NAME.json.
type Fixture struct {
	// Name is the file's path, such as "tests/too-long.json".
	Name string `json:"-"`
	// Kind is the kind of plugin that is asked. It may be left out if the plugin has
	// only one kind.
	Kind sdk.Kind `json:"kind,omitempty"`
	// Config is a JSON object; left out it is {}.
	Config json.RawMessage `json:"config,omitempty"`
	// Request is the request. Without one, only the config is tested.
	Request *Request `json:"request,omitempty"`
	// Want is the expected answer. Fields that it leaves out aren't checked.
	Want Want `json:"want"`
	// Varies means that the same request may give another answer each time, as with a
	// language model.
	Varies bool `json:"varies,omitempty"`
}

// Request is a request of any kind. See [sdk.EvaluateRequest],
// [sdk.GenerateRequest] and [sdk.CorrectRequest].
type Request struct {
	Output   json.RawMessage `json:"output,omitempty"`
	State    json.RawMessage `json:"state,omitempty"`
	Errors   []sdk.Finding   `json:"errors,omitempty"`
	Feedback string          `json:"feedback,omitempty"`
}

// Want is the answer that a fixture expects.
type Want struct {
	// Valid and Score are the verdict's. A score may differ by 1e-6.
	Valid *bool    `json:"valid,omitempty"`
	Score *float64 `json:"score,omitempty"`
	// Errors are all findings of the verdict, in their order. For each finding, only
	// the fields that are set here are compared.
	Errors []sdk.Finding `json:"errors,omitempty"`
	// Output is the new output: generated, repaired, or set by the verdict.
	Output json.RawMessage `json:"output,omitempty"`
	// Error is the reason (or class) of the error with which the config or the request
	// is refused.
	Error string `json:"error,omitempty"`
}

// Load reads the fixtures of a package's folder, sorted by name. Without a
// folder "tests" there are none. All problems are reported at once, as one
// sdk.Invalid error of reason "fixture_invalid".
func Load(dir fs.FS) ([]Fixture, error) {
	names, err := fs.Glob(dir, "tests/*.json")
	if err != nil {
		return nil, sdk.Errorf(sdk.Internal, "", "fixtures: %w", err) // the pattern is sound
	}
	if len(names) > MaxFixtures {
		return nil, sdk.Errorf(sdk.Exhausted, "fixtures_too_many", "tests holds %d fixtures, over the limit of %d", len(names), MaxFixtures).
			WithHint("keep those that show something new")
	}
	var fixtures []Fixture
	var problems []string
	for _, name := range names {
		f, err := load(dir, name)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		fixtures = append(fixtures, f)
	}
	if len(problems) > 0 {
		return nil, sdk.Errorf(sdk.Invalid, "fixture_invalid", "%s", strings.Join(problems, "; ")).
			WithHint(`a fixture is {"config": {…}, "request": {"output": …}, "want": {"valid": true}}`).
			WithDetail("problems", problems)
	}
	return fixtures, nil
}

func load(dir fs.FS, name string) (Fixture, error) {
	file, err := dir.Open(name)
	if err != nil {
		return Fixture{}, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxFixtureBytes+1))
	if err != nil {
		return Fixture{}, err
	}
	if len(data) > MaxFixtureBytes {
		return Fixture{}, fmt.Errorf("it is over %d bytes", MaxFixtureBytes)
	}
	return parse(path.Clean(name), data)
}

func parse(name string, data []byte) (Fixture, error) {
	f := Fixture{Name: name}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Fixture{}, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Fixture{}, errors.New("more than one JSON value")
	}
	if len(f.Config) == 0 {
		f.Config = json.RawMessage("{}")
	}
	if f.Request != nil && len(f.Request.Output) == 0 {
		f.Request.Output = json.RawMessage("null")
	}
	return f, nil
}
