package httpapi

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// The rules that the document's schemas don't say.
const (
	ofText    = "which characters and words a text may have, and how long it is"
	ofForm    = "a text of a form that the host reads, such as a time or what an answer gave"
	ofNumber  = "a bound that depends on another field, that 0 is outside of, or of a value within another"
	ofRequest = "which fields or items go together, or with what is stored"
)

// unsayable are the codes with which a request is refused although the document's schema accepts
// it, with the rule that it breaks.
var unsayable = map[string]string{
	"a_invalid":                  ofText,
	"after_invalid":              ofForm,
	"agent_id_invalid":           ofText,
	"anchor_categories_invalid":  ofRequest,
	"anchor_category_disabled":   ofRequest,
	"at_invalid":                 ofForm,
	"b_invalid":                  ofText,
	"block_id_invalid":           ofText,
	"blocks_invalid":             ofNumber,
	"body_missing":               ofRequest,
	"category_cap_invalid":       ofRequest,
	"category_invalid":           ofForm,
	"complexity_invalid":         ofNumber,
	"confidence_invalid":         ofNumber,
	"content_invalid":            ofText,
	"created_turn_invalid":       ofRequest,
	"dedupe_strategy_invalid":    ofForm,
	"depth_invalid":              ofNumber,
	"enabled_categories_invalid": ofForm,
	"erase_missing":              ofRequest,
	"evidence_invalid":           ofText,
	"failure_class_invalid":      ofRequest,
	"field_type_invalid":         ofForm,
	"format_invalid":             ofForm,
	"from_invalid":               ofRequest,
	"governance_invalid":         ofRequest,
	"id_invalid":                 ofText,
	"idempotency_key_invalid":    ofText,
	"importance_invalid":         ofNumber,
	"invalid_page_token":         ofForm,
	"items_invalid":              ofRequest,
	"kind_invalid":               ofRequest,
	"label_invalid":              ofText,
	"lines_invalid":              ofNumber,
	"max_blocks_invalid":         ofNumber,
	"max_chars_invalid":          ofNumber,
	"max_tokens_invalid":         ofNumber,
	"memory_id_invalid":          ofText,
	"metadata_invalid":           ofText,
	"min_score_invalid":          ofNumber,
	"mode_invalid":               ofForm,
	"model_not_calibratable":     ofRequest,
	"namespace_invalid":          ofText,
	"namespaces_invalid":         ofText,
	"not_recalled":               ofRequest,
	"occurred_at_invalid":        ofText,
	"ordering_strategy_invalid":  ofForm,
	"outcome_invalid":            ofForm,
	"pairs_invalid":              ofRequest,
	"payload_invalid":            ofText,
	"plugin_name_invalid":        ofText,
	"policy_invalid":             ofForm,
	"priority_invalid":           ofNumber,
	"query_invalid":              ofText,
	"reason_invalid":             ofText,
	"relation_invalid":           ofText,
	"risk_invalid":               ofNumber,
	"scopes_invalid":             ofRequest,
	"session_invalid":            ofText,
	"several_problems":           ofRequest,
	"source_ids_invalid":         ofRequest,
	"source_invalid":             ofText,
	"states_invalid":             ofRequest,
	"stream_invalid":             ofForm,
	"subject_invalid":            ofText,
	"tags_invalid":               ofText,
	"text_invalid":               ofText,
	"title_invalid":              ofText,
	"to_invalid":                 ofText,
	"tokenizer_invalid":          ofForm,
	"trace_refs_invalid":         ofText,
	"ttl_turns_invalid":          ofNumber,
	"turn_invalid":               ofNumber,
	"types_invalid":              ofForm,
	"user_id_invalid":            ofText,
}

// generator makes requests of the document's schemas: valid ones, ones at a bound, ones with a
// fault, and hostile ones. What it makes is judged by the schema, not by how it was made.
type generator struct {
	t *rapid.T
	// ids are of what is there.
	ids []string
	// faulty is how often, of 100 values, one is made that the schema may not take.
	faulty int
}

// hostile are texts that have broken other programs.
var hostile = []string{
	"", " ", "\x00", "a\x00b", "..", "../../etc/passwd", "%2e%2e", "%00", "'; DROP TABLE x; --", "<script>alert(1)</script>", "\u202e\u2066abc",
	"\ufeff", "\ud7ff\U0010ffff", "{{ state }}", "${x}", strings.Repeat("a", 70_000), strings.Repeat("a/", 40), "**", "team/**", "a//b", "null", "true",
	"-1", "1e309", "NaN", "2000-01-01T00:00:00Z", "2000-13-01", "\r\nX: y", "ａ", "e\u0301", "=", "a=1", "max_reflection_depth=-1",
}

func (g *generator) pick(label string, n int) int { return rapid.IntRange(0, n-1).Draw(g.t, label) }

func (g *generator) text() string {
	switch g.pick("text", 4) {
	case 0:
		return hostile[g.pick("hostile", len(hostile))]
	case 1:
		return g.ids[g.pick("id", len(g.ids))]
	case 2:
		return []string{operationtest.Here, operationtest.Elsewhere, "team", "semantic", "harbour"}[g.pick("known", 5)]
	}
	return rapid.StringN(0, 30, -1).Draw(g.t, "string")
}

func (g *generator) number(s *openapi3.Schema, whole bool) any {
	near := []float64{0, 1, -1, 2, 1 << 31, -(1 << 53), 1 << 53}
	for _, bound := range []*float64{s.Min, s.Max} {
		if bound != nil {
			near = append(near, *bound, *bound-1, *bound+1, *bound, *bound)
		}
	}
	n := near[g.pick("number", len(near))]
	if !whole && g.pick("fraction", 2) == 0 {
		n += 0.5
	}
	return n
}

// anything is a value of any type.
func (g *generator) anything(depth int) any {
	switch g.pick("anything", 8) {
	case 0:
		return nil
	case 1:
		return g.pick("bool", 2) == 0
	case 2:
		return rapid.Float64().Draw(g.t, "float")
	case 3:
		if depth < 4 {
			return []any{g.anything(depth + 1)}
		}
	case 4:
		if depth < 4 {
			return map[string]any{g.text(): g.anything(depth + 1)}
		}
	}
	return g.text()
}

// value is one for a schema, mostly one that it takes.
func (g *generator) value(s *openapi3.Schema, depth int) any {
	if g.faulty > 0 && g.pick("fault", 100) < g.faulty || s.Always != nil {
		return g.anything(depth)
	}
	if len(s.AnyOf) > 0 {
		return g.value(s.AnyOf[g.pick("any of", len(s.AnyOf))].Value, depth)
	}
	if len(s.Enum) > 0 {
		return s.Enum[g.pick("enum", len(s.Enum))]
	}
	types := s.Type.Slice()
	if len(types) == 0 {
		return g.anything(depth)
	}
	switch types[g.pick("type", len(types))] {
	case "null":
		return nil
	case "boolean":
		return g.pick("bool", 2) == 0
	case "integer":
		return g.number(s, true)
	case "number":
		return g.number(s, false)
	case "string":
		return g.text()
	case "array":
		list := make([]any, int(s.MinItems)+g.pick("items", 3))
		if s.MaxItems != nil {
			list = list[:min(len(list), int(*s.MaxItems))]
		}
		for i := range list {
			list[i] = g.value(s.Items.Value, depth+1)
		}
		return list
	}
	return g.object(s, depth)
}

func (g *generator) object(s *openapi3.Schema, depth int) map[string]any {
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if needed := slices.Contains(s.Required, name); needed && (g.faulty == 0 || g.pick("leave out", 100) >= g.faulty) || !needed && g.pick("optional", 3) == 0 {
			object[name] = g.value(s.Properties[name].Value, depth+1)
		}
	}
	if more := s.AdditionalProperties.Schema; more != nil && g.pick("more", 2) == 0 {
		object[g.text()] = g.value(more.Value, depth+1)
	}
	if g.faulty > 0 && g.pick("unknown", 100) < g.faulty {
		object[g.text()] = g.anything(depth)
	}
	return object
}

// generated is a generated request.
type generated struct {
	*http.Request
	what string
	// valid is whether the document takes it.
	valid bool
}

// request makes one for an operation of the document; nil if it can't be sent.
func (g *generator) request(o *operation.Operation, described *openapi3.Operation) *generated {
	m := &generated{valid: true}
	path, query := o.Path, url.Values{}
	for _, ref := range described.Parameters {
		p := ref.Value
		if p.In == "header" {
			continue // they have tests of their own
		}
		if p.In == "path" {
			id := g.text()
			if id == "" || id == "." || id == ".." {
				return nil // another path
			}
			path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(id), 1)
		} else if p.Required || g.pick("parameter", 3) == 0 {
			values := []any{g.value(p.Schema.Value, 0)}
			if list, is := values[0].([]any); is {
				values = list
			}
			m.valid = m.valid && addParameter(query, p, values)
		}
	}
	if g.faulty > 0 && g.pick("unknown parameter", 100) < g.faulty {
		query.Add("nonsense", g.text())
		m.valid = false
	}
	target := path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	body := ""
	switch {
	case o.Body:
		body = g.text()
	case described.RequestBody != nil:
		schema := described.RequestBody.Value.Content.Get("application/json").Schema.Value
		value := g.value(schema, 0)
		text, err := json.Marshal(value)
		if err != nil {
			return nil
		}
		tree, err := jsontext.Decode(text)
		m.valid = m.valid && err == nil && schema.VisitJSON(tree, openapi3.EnableJSONSchema2020()) == nil
		if body = string(text); len(body) > 1 && g.faulty > 0 && g.pick("cut", 100) < g.faulty {
			body, m.valid = body[:1+g.pick("cut at", len(body)-1)], false
		}
	case o.Method == http.MethodPost || o.Method == http.MethodPut:
		body = "{}"
	}
	m.Request = httptest.NewRequest(o.Method, target, strings.NewReader(body))
	m.Header.Set("Content-Type", map[bool]string{true: "application/jsonl", false: "application/json"}[o.Body])
	m.Header.Set("Authorization", "Bearer operator")
	m.what = fmt.Sprintf("%s %.300s %.600s", o.Method, target, body)
	return m
}

// addParameter adds a parameter's values to a query, and reports whether its schema takes them
// as they are there.
func addParameter(query url.Values, p *openapi3.Parameter, values []any) (valid bool) {
	schema, valid := p.Schema.Value, true
	if schema.Type.Permits("array") && schema.Items != nil {
		schema = schema.Items.Value
	} else {
		valid = len(values) == 1
	}
	for _, value := range values {
		text, is := value.(string)
		if !is {
			encoded, err := json.Marshal(value)
			if err != nil {
				return false
			}
			text = string(encoded)
		}
		query.Add(p.Name, text)
		read := any(text)
		if !schema.Type.Permits("string") {
			tree, err := jsontext.Decode([]byte(text))
			if err != nil || text != strings.TrimSpace(text) {
				return false
			}
			read = tree
		}
		if schema.VisitJSON(read, openapi3.EnableJSONSchema2020()) != nil {
			valid = false
		}
	}
	return valid
}

// TestGenerated_RequestsAreAnsweredAsDescribed sends requests of every kind. No answer is a
// defect, and each has a status that the document has. A request that the schema accepts is
// refused only for what no schema can say, and one that it doesn't accept never succeeds.
func TestGenerated_RequestsAreAnsweredAsDescribed(t *testing.T) {
	setFlag(t, "rapid.nofailfile", "true")
	setFlag(t, "rapid.checks", "600")
	if os.Getenv("REFLECTORY_STRESS") == "1" {
		setFlag(t, "rapid.checks", "10000")
	} else {
		setFlag(t, "rapid.seed", "1")
	}
	s := newSite(t)
	ids := []string{s.Memory(), s.Memory(), s.Run(operationtest.Here), s.Pending(operationtest.Here), s.Promoted().ID, s.Session(), "00000000-0000-7000-8000-00000000ffff"}
	var operations []operation.Operation
	for _, o := range operation.Table() {
		if _, queues := o.AsJob(); !queues { // a queue takes 20 jobs of a user
			operations = append(operations, o)
		}
	}
	doc, met := described(), map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		o := operations[rapid.IntRange(0, len(operations)-1).Draw(rt, "operation")]
		g := &generator{t: rt, ids: ids, faulty: []int{0, 0, 10, 60}[rapid.IntRange(0, 3).Draw(rt, "kind")]}
		m := g.request(&o, doc.doc.Paths.Value(o.Path).GetOperation(o.Method))
		if m == nil || !isClean(m.Request) {
			return
		}
		asked := m.Clone(m.Context())
		w := httptest.NewRecorder()
		s.api.Remote().ServeHTTP(w, m.Request)
		a := &answer{w.Result(), w.Body.String()}
		met[fmt.Sprint(m.valid, " ", a.StatusCode/100)]++
		var p struct{ Code string }
		_ = json.Unmarshal([]byte(a.body), &p) // of a problem
		switch {
		case a.StatusCode >= 500:
			rt.Errorf("%s: %s", m.what, a.body)
		case m.valid && (a.StatusCode == 400 || a.StatusCode == 422) && unsayable[p.Code] == "":
			rt.Errorf("the schema takes %s: %s", m.what, a.body)
		case !m.valid && a.StatusCode < 300:
			rt.Errorf("the schema doesn't take %s: %d", m.what, a.StatusCode)
		}
		if err := doc.check(asked, a); err != nil {
			rt.Errorf("%s: %v", m.what, err)
		}
	})
	for _, kind := range []string{"true 2", "true 4", "false 4"} {
		if met[kind] < 20 {
			t.Errorf("only %d requests are %s: %v", met[kind], kind, met)
		}
	}
}

// setFlag sets a flag of the test's program until the test ends.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(name, before) })
}
