package schemaeval_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

// Every schema of the suite that gojsonschema handles is tried with every value of its
// draft's tests on both engines: the verdicts must be equal.
func TestEnginesAgreeOnTheWholeSuite(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	root := suiteFolder(t)
	for _, draft := range []string{"draft4", "draft6", "draft7"} {
		t.Run(draft, func(t *testing.T) {
			schemas, outputs := suiteContents(t, filepath.Join(root, "tests", draft))
			compared := 0
			for _, schema := range schemas {
				compared += compareEngines(t, draft, schema, outputs)
			}
			if compared < 10_000 {
				t.Errorf("only %d verdicts were compared", compared)
			}
		})
	}
}

// suiteContents lists a draft's object schemas and all values of its tests.
func suiteContents(t *testing.T, folder string) (schemas, outputs []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	for _, file := range files {
		for _, group := range readJSON[[]suiteGroup](t, file) {
			if group.Schema[0] == '{' && !strings.Contains(string(group.Schema), "localhost:1234") {
				schemas = append(schemas, string(group.Schema))
			}
			for _, test := range group.Tests {
				values[string(asOutput(test.Data))] = true
			}
		}
	}
	return schemas, slices.Sorted(maps.Keys(values))
}

// compareEngines returns how many verdicts it compared: none for a schema that
// gojsonschema doesn't handle.
func compareEngines(t *testing.T, draft, schema string, outputs []string) int {
	t.Helper()
	one, err := evaluator(map[string]any{"draft": draft, "schema": json.RawMessage(schema)})
	if err != nil {
		t.Fatal(err)
	}
	other, err := evaluator(map[string]any{"draft": draft, "schema": json.RawMessage(detour(t, schema))})
	if err != nil {
		t.Fatal(err)
	}
	for i, output := range outputs {
		req := &sdk.EvaluateRequest{Output: json.RawMessage(output)}
		a, errA := one.Evaluate(t.Context(), req)
		b, errB := other.Evaluate(t.Context(), req)
		if errA != nil || errB != nil {
			t.Fatalf("%s on %s: %v, %v", schema, output, errA, errB)
		}
		if a.Metadata["engine"] != "gojsonschema" {
			return i
		}
		if diff := cmp.Diff(a.Verdict, b.Verdict); diff != "" {
			t.Errorf("%s on %s (-gojsonschema +other):\n%s", schema, output, diff)
		}
	}
	return len(outputs)
}

// This table is the rule in the README, by the engine that judged.
func TestTheEngineIsChosenByTheRule(t *testing.T) {
	const own, other = "gojsonschema", "santhosh-tekuri"
	tests := []struct{ schema, draft, engine string }{
		{`{"type": "object"}`, "draft4", own},
		{`{"type": "object"}`, "draft6", own},
		{`{"type": "object"}`, "draft7", own},
		{`{"type": "object"}`, "2019-09", other},
		{`{"type": "object"}`, "2020-12", other},
		{`true`, "draft7", own},
		{`{"not": {"format": "date"}}`, "draft7", other},
		{`{"maxItems": 2}`, "draft7", own},
		{`{"maxItems": 2.0}`, "draft7", other},
		{`{"maxItems": 2147483648}`, "draft7", own},
		{`{"maxItems": 2147483649}`, "draft7", other},
		{`{"not": {"$ref": "#/definitions/a"}, "definitions": {"a": {"type": "null"}}}`, "draft7", own},
		{`{"properties": {"a": {"$ref": "#"}}}`, "draft7", other},
		{`{"items": {"$ref": "#/definitions/a"}, "definitions": {"a": {"items": {"$ref": "#/definitions/a"}}}}`, "draft7", other},
		{`{"not": {"$ref": "#/definitions/a", "type": "null"}, "definitions": {"a": {"type": "null"}}}`, "draft7", other},
		{`{"not": {"$ref": "#/definitions/a/not"}, "definitions": {"a": {"not": {}}}}`, "draft7", other},
		{`{"not": {"$ref": "#/properties/a"}, "properties": {"a": {"type": "null"}}}`, "draft7", other},
		{`{"$id": "http://a/b"}`, "draft7", own},
		{`{"not": {"$id": "http://a/b", "type": "null"}}`, "draft7", other},
		{`{"not": {"id": "http://a/b", "type": "null"}}`, "draft4", other},
		{`{"$schema": "http://json-schema.org/draft-07/schema#"}`, "2020-12", own},
		{`{"$schema": "https://json-schema.org/draft/2020-12/schema"}`, "draft7", other},
	}
	for _, tt := range tests {
		got := evaluate(t, `{"draft": "`+tt.draft+`", "schema": `+tt.schema+`}`, `{"b": 1}`)
		if got.Metadata["engine"] != tt.engine {
			t.Errorf("%s of %s is served by %s, want %s", tt.schema, tt.draft, got.Metadata["engine"], tt.engine)
		}
	}
}

func TestEnginesAgreeThatNegativeZeroIsZero(t *testing.T) {
	for schema, valid := range map[string]bool{
		`{"items": {"enum": [0]}}`: true, `{"items": {"not": {"enum": [0.0]}}}`: false, `{"items": {"enum": [-0]}}`: true, `{"uniqueItems": true}`: false,
	} {
		for _, s := range []string{schema, detour(t, schema)} {
			if got := evaluate(t, `{"schema": `+s+`}`, `[0, -0.0, -0e5]`).Verdict; got.Valid != valid {
				t.Errorf("%s: valid %v, want %v", s, got.Valid, valid)
			}
		}
	}
}
