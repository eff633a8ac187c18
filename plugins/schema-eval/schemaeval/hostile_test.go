package schemaeval_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/plugins/schema-eval/schemaeval"
	"github.com/reflectory/reflectory/sdk"
)

func TestManifestIsValidAndItsSchemaAcceptsConfigs(t *testing.T) {
	p := schemaeval.Plugin()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"schema": p.Manifest.ConfigSchema})
	if err != nil {
		t.Fatal(err)
	}
	for output, valid := range map[string]bool{
		`{"schema": true}`: true,
		`{"schema": {}, "draft": "2020-12", "formats": "assert", "scoring": "strict", "coerce": true, "base": "a:b", "documents": {"a:c": {}}}`: true,
		`{}`: false, `{"schema": {}, "drafts": 1}`: false, `{"schema": {}, "scoring": "x"}`: false,
	} {
		if got := evaluate(t, string(config), output).Verdict; got.Valid != valid {
			t.Errorf("%s: valid %v, want %v: %v", output, got.Valid, valid, got.Errors)
		}
		if _, err := evaluator(output); (err == nil) != valid {
			t.Errorf("%s: prepared with %v", output, err)
		}
	}
}

func TestConfigProblemsAreReportedAtOnce(t *testing.T) {
	_, err := evaluator(`{"shema": {}, "draft": "draft5", "scoring": "Strict", "formats": "x", "coerce": "yes", "base": "here", "documents": {"there": {}, "a:b#c": {}}}`)
	want := []string{
		`schema is missing: give a JSON Schema`,
		`draft "draft5" is not one of draft4, draft6, draft7, 2019-09, 2020-12 (did you mean "draft4"?)`,
		`scoring "Strict" is not one of graded, strict (did you mean "strict"?)`,
		`formats "x" is not one of assert, annotate`,
		`coerce is text, not a boolean`,
		`base: "here" is not an absolute URI without a fragment`,
		`documents: "a:b#c" is not an absolute URI without a fragment`,
		`documents: "there" is not an absolute URI without a fragment`,
		`unknown key shema: did you mean schema?`,
	}
	if diff := cmp.Diff(want, sdk.AsError(err).Details["problems"]); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != "config_invalid" {
		t.Errorf("got %s/%s", sdk.CodeOf(err), sdk.ReasonOf(err))
	}
}

func TestInvalidSchemasAreRefusedWithTheirPlace(t *testing.T) {
	tests := []struct{ name, config, reason, path, message string }{
		{"wrong type", `{"schema": {"properties": {"a": {"type": "strin"}}}}`, "schema_invalid", "/properties/a/type", "at /properties/a/type: "},
		{"bad pattern", `{"schema": {"properties": {"a": {"pattern": "(?=x)"}}}}`, "schema_invalid", "/properties/a/pattern", "(?=x)"},
		{"dangling reference", `{"schema": {"properties": {"a": {"$ref": "#/definitions/x"}}}}`, "schema_invalid", "/properties/a/$ref", "leads to /definitions/x, which doesn't exist"},
		{"negative limit", `{"schema": {"maxLength": -1}}`, "schema_invalid", "/maxLength", "must be at least 0, got -1"},
		{"unknown metaschema", `{"schema": {"$schema": "http://example.com/mine"}}`, "remote_ref_refused", "/$schema", "example.com/mine"},
		{"remote reference", `{"schema": {"properties": {"a": {"$ref": "https://example.com/x.json#/y"}}}}`, "remote_ref_refused", "/properties/a/$ref", `"https://example.com/x.json"`},
		{"file reference", `{"schema": {"items": [{"$ref": "file:///etc/passwd"}]}}`, "remote_ref_refused", "/items/0/$ref", "/etc/passwd"},
		{"reference relative to $id", `{"schema": {"$id": "http://a.b/c/", "not": {"$ref": "d.json"}}}`, "remote_ref_refused", "/not/$ref", "http://a.b/c/d.json"},
		{"reference relative to the base", `{"base": "workflow:///x/s.json", "schema": {"not": {"$ref": "d.json"}}}`, "remote_ref_refused", "/not/$ref", "workflow:///x/d.json"},
		{"invalid document", `{"schema": {"$ref": "a:b"}, "documents": {"a:b": {"type": 1}}}`, "schema_invalid", "/type", "document a:b"},
		{"loop", `{"schema": {"$ref": "#"}}`, "schema_invalid", "", "# → #"},
		{"loop through allOf", `{"schema": {"properties": {"a": {"allOf": [{"$ref": "#/properties/a"}]}}}}`, "schema_invalid", "/properties/a", "#/properties/a → #/properties/a/allOf/0 → #/properties/a"},
		{"loop in 2020-12", `{"schema": {"anyOf": [{"$ref": "#"}]}, "draft": "2020-12"}`, "schema_invalid", "", "without going into the value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := evaluator(tt.config)
			if err == nil {
				t.Fatal("it is accepted")
			}
			e := sdk.AsError(err)
			if e.Code != sdk.Invalid || e.Reason != tt.reason || e.Details["path"] != tt.path || !strings.Contains(e.Message, tt.message) {
				t.Errorf("got %s/%s at %v: %s\nwant %s at %s: %s", e.Code, e.Reason, e.Details["path"], e.Message, tt.reason, tt.path, tt.message)
			}
		})
	}
}

func TestADynamicLoopIsAFailureOfTheSchema(t *testing.T) {
	e, err := evaluator(`{"draft": "2020-12", "schema": {"$dynamicAnchor": "x", "$dynamicRef": "#x"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(`1`)}); sdk.ReasonOf(err) != "schema_invalid" {
		t.Errorf("got %v, want schema_invalid", err)
	}
}

func TestDocumentsServeReferences(t *testing.T) {
	config := `{"base": "workflow:///s.json", "schema": {"properties": {"u": {"$ref": "defs.json#/definitions/user"}, "v": {"$ref": "http://known/x"}}},
		"documents": {"workflow:///defs.json": {"definitions": {"user": {"required": ["id"]}}}, "http://known/x": {"type": "null"}, "http://never/used": {"type": 5}}}`
	want := []sdk.Finding{
		finding("/u", "workflow:///defs.json#/definitions/user/required", "required", `missing property "id"`),
		finding("/v", "http://known/x#/type", "type", "expected null, got number"),
	}
	if diff := cmp.Diff(want, evaluate(t, config, `{"u": {}, "v": 1}`).Verdict.Errors); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestOutputsPastALimitAreBadOutputs(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	tests := []struct{ name, output, message string }{
		{"depth", deep, "nested deeper than 256 levels"},
		{"depth in text", `"` + deep + `"`, "nested deeper than 256 levels"},
		{"values", `[` + strings.Repeat("1,", 500_000) + `1]`, "more than 500000 values"},
		{"bytes", `"` + strings.Repeat("x", 8<<20) + `"`, "(limit 8388608)"},
		{"exponent", `[1e1000000000]`, "exponent beyond ±400"},
		{"exponent in text", `"[1e-1000000000]"`, "exponent beyond ±400"},
		{"digits", `[` + strings.Repeat("1", 1001) + `]`, "1001 digits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := evaluate(t, `{"schema": {"items": {"type": "integer", "multipleOf": 3}}}`, tt.output).Verdict
			if got.Valid || len(got.Errors) != 1 || !strings.Contains(got.Errors[0].Message, tt.message) {
				t.Errorf("got %+v, want one finding with %q", got, tt.message)
			}
		})
	}
}

func TestSchemasPastALimitAreRefused(t *testing.T) {
	tests := []struct{ name, schema, message string }{
		{"depth", strings.Repeat(`{"not":`, 300) + "{}" + strings.Repeat("}", 300), "nested deeper than 256 levels"},
		{"bytes", `{"title": "` + strings.Repeat("x", 4<<20) + `"}`, "(limit 4194304)"},
		{"subschemas", `{"allOf": [` + strings.Repeat("{},", 20_000) + `{}]}`, "20002 subschemas (limit 20000)"},
		{"number", `{"multipleOf": 1e-1000000}`, "exponent beyond ±400"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := evaluator(`{"schema": ` + tt.schema + `}`); sdk.ReasonOf(err) != "schema_invalid" || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("got %v, want schema_invalid with %q", err, tt.message)
			}
		})
	}
}

func TestALongListOfFindingsIsCutAndScored(t *testing.T) {
	got := evaluate(t, `{"schema": {"items": {"type": "string"}}}`, `[`+strings.Repeat("1,", 4_999)+`1]`).Verdict
	if len(got.Errors) != 1001 || got.Score != 0 {
		t.Fatalf("got %d findings, score %v; want 1001, 0", len(got.Errors), got.Score)
	}
	if last := got.Errors[1000]; last.Message != "4000 further errors are not listed" || last.Severity != "info" {
		t.Errorf("the last is %+v", last)
	}
}

func TestAnOutputThatIsNotJSONIsAFailure(t *testing.T) {
	e, err := evaluator(`{"schema": {}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, output := range []string{"", "{", "{} {}"} {
		if _, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(output)}); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q: got %v, want an error of class invalid", output, err)
		}
	}
}

func TestConcurrentEvaluationsAgree(t *testing.T) {
	for _, schema := range []string{person, detour(t, person)} {
		e, err := evaluator(`{"coerce": true, "schema": ` + schema + `}`)
		if err != nil {
			t.Fatal(err)
		}
		req := &sdk.EvaluateRequest{Output: json.RawMessage(`{"name": "x", "age": "7", "b": 1, "a": 2}`)}
		want, err := e.Evaluate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 50 {
					if got, err := e.Evaluate(t.Context(), req); err != nil || !cmp.Equal(want, got) {
						t.Errorf("got %+v, %v", got, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

func FuzzEvaluate(f *testing.F) {
	f.Add(`{"type": "object"}`, `{"a": 1}`)
	f.Add(`{"$ref": "#/definitions/x", "definitions": {"x": {"anyOf": [{"type": "integer"}]}}}`, `"[1, ]"`)
	f.Add(`{"properties": {"a": {"type": "integer", "format": "date"}}}`, `{"a": "1"}`)
	f.Add(`{"maxLength": 99999999999999999999, "multipleOf": 0.1, "if": false}`, `"x"`)
	f.Fuzz(func(t *testing.T, schema, output string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		e, err := evaluator(`{"coerce": true, "schema": ` + schema + `}`)
		if err != nil {
			if sdk.CodeOf(err) != sdk.Invalid {
				t.Fatalf("prepare: %v", err)
			}
			return
		}
		got, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(output)})
		if err != nil {
			if sdk.CodeOf(err) != sdk.Invalid {
				t.Fatalf("evaluate: %v", err)
			}
			return
		}
		if got.Verdict.Valid != (len(got.Verdict.Errors) == 0) || got.Verdict.Check() != nil {
			t.Fatalf("verdict %+v", got.Verdict)
		}
		if len(got.Verdict.Output) > 0 && !json.Valid(got.Verdict.Output) {
			t.Fatalf("output %q is not JSON", got.Verdict.Output)
		}
	})
}
