package schemaeval_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// suiteGroup is one schema of the official suite with its tests.
type suiteGroup struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// The required tests are the files at the top of each draft's folder.
func TestOfficialSuitePasses(t *testing.T) {
	root := suiteFolder(t)
	documents := suiteRemotes(t, filepath.Join(root, "remotes"))
	var groups, byGo int // of drafts 4, 6 and 7
	total := 0
	for _, draft := range []struct{ name, folder string }{
		{"draft4", "draft4"}, {"draft6", "draft6"}, {"draft7", "draft7"},
		{"2019-09", "draft2019-09"}, {"2020-12", "draft2020-12"},
	} {
		t.Run(draft.name, func(t *testing.T) {
			s := suite{t: t, draft: draft.name, documents: documents, served: map[string]int{}}
			s.run(filepath.Join(root, "tests", draft.folder))
			total += s.tests
			line := fmt.Sprintf("%s: %d tests in %d groups; gojsonschema served %d groups, santhosh-tekuri %d",
				draft.name, s.tests, s.groups, s.served["gojsonschema"], s.served["santhosh-tekuri"])
			t.Log(line)
			fmt.Println("JSON-Schema-Test-Suite", line)
			if s.groups < 100 {
				t.Errorf("only %d groups were found", s.groups)
			}
			if strings.HasPrefix(draft.name, "draft") {
				groups, byGo = groups+s.groups, byGo+s.served["gojsonschema"]
			}
		})
	}
	fmt.Printf("JSON-Schema-Test-Suite: %d required tests\n", total)
	share := 100 * float64(byGo) / float64(groups)
	fmt.Printf("JSON-Schema-Test-Suite drafts 4, 6, 7: gojsonschema served %d of %d groups (%.1f %%)\n", byGo, groups, share)
	if share < 75 {
		t.Errorf("gojsonschema served %.1f %% of the groups of drafts 4, 6 and 7, want at least 75", share)
	}
}

type suite struct {
	t         *testing.T
	draft     string
	documents map[string]json.RawMessage
	served    map[string]int
	groups    int
	tests     int
}

func (s *suite) run(folder string) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		s.t.Fatalf("no tests in %s: %v", folder, err)
	}
	for _, file := range files {
		for _, group := range readJSON[[]suiteGroup](s.t, file) {
			s.runGroup(filepath.Base(file), group)
		}
	}
}

func (s *suite) runGroup(file string, group suiteGroup) {
	s.groups++
	config := map[string]any{"schema": group.Schema, "draft": s.draft, "documents": s.documents}
	if !strings.Contains(string(group.Schema), "localhost:1234") {
		delete(config, "documents")
	}
	e, err := evaluator(config)
	if err != nil {
		s.t.Errorf("%s: %s: %v", file, group.Description, err)
		return
	}
	engine := ""
	for _, test := range group.Tests {
		s.tests++
		got, err := e.Evaluate(s.t.Context(), &sdk.EvaluateRequest{Output: asOutput(test.Data)})
		if err != nil {
			s.t.Errorf("%s: %s: %s: %v", file, group.Description, test.Description, err)
			continue
		}
		engine = got.Metadata["engine"]
		if got.Verdict.Valid != test.Valid || test.Valid != (len(got.Verdict.Errors) == 0) {
			s.t.Errorf("%s: %s: %s: %s says valid %v with %v", file, group.Description, test.Description, engine,
				got.Verdict.Valid, got.Verdict.Errors)
		}
	}
	s.served[engine]++
}

// asOutput wraps a string as the text of its JSON, because a text output is parsed
// first.
func asOutput(data json.RawMessage) json.RawMessage {
	if data[0] != '"' {
		return data
	}
	text, err := json.Marshal(string(data))
	if err != nil {
		panic(err) // a string can't fail to encode
	}
	return text
}

// suiteFolder is the suite's folder in the module cache, or a newer checkout named by
// REFLECTORY_SCHEMA_SUITE (github.com/json-schema-org/JSON-Schema-Test-Suite).
func suiteFolder(t *testing.T) string {
	t.Helper()
	if checkout := os.Getenv("REFLECTORY_SCHEMA_SUITE"); checkout != "" {
		return checkout
	}
	folder, err := coretest.SuiteModule(filepath.Join("..", "..", ".."), "github.com/kaptinlin/jsonschema")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "testdata", "JSON-Schema-Test-Suite")
}

// suiteRemotes are the documents that the suite expects at localhost:1234.
func suiteRemotes(t *testing.T, folder string) map[string]json.RawMessage {
	t.Helper()
	documents := map[string]json.RawMessage{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		documents["http://localhost:1234/"+filepath.ToSlash(name)] = readJSON[json.RawMessage](t, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

func readJSON[T any](t *testing.T, file string) T {
	t.Helper()
	var v T
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}
