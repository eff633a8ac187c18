package llmeval

import (
	"encoding/json"

	"github.com/reflectory/reflectory/plugins/internal/schema"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// replySchema is the JSON Schema that a reply must match. Endpoints follow it more or
// less, and some not at all, so each reply is checked. A nil replySchema accepts
// everything.
type replySchema struct {
	source   json.RawMessage
	compiled *schema.Schema
}

// compileSchema compiles a schema. Its draft is 7 unless it names another.
func compileSchema(source json.RawMessage) (*replySchema, error) {
	compiled, err := schema.Compile(source, schema.Options{Formats: "assert"})
	if err != nil {
		return nil, err
	}
	return &replySchema{source, compiled}, nil
}

// form requests the schema from an endpoint. Strict mode requires that every property
// is listed as required and that no others are allowed. Few schemas do this, so strict
// mode is off and endpoints do their best.
func (s *replySchema) form() *form {
	if s == nil {
		return nil
	}
	return &form{Name: "reply", Schema: s.source, words: "Reply with one JSON value and nothing else. It must fit this JSON Schema:\n" + string(s.source)}
}

// read finds the JSON value in a reply. Of several values it takes the one that matches, and misfit
// is what is wrong with it; "" if nothing is. All values of a reply share what a check may cost.
func (s *replySchema) read(r *reply) (value json.RawMessage, misfit string, err error) {
	if s == nil {
		value, r.note, err = r.Value(nil)
		return value, "", err
	}
	check, err := s.compiled.Begin()
	if err != nil {
		return nil, "", err
	}
	defer check.End(&err)
	value, r.note, err = r.Value(func(v json.RawMessage) bool { return misfits(check, v) == "" })
	if err != nil {
		return nil, "", err
	}
	return value, misfits(check, value), nil
}

// misfits is what is wrong with a value, and where.
func misfits(check *schema.Check, data json.RawMessage) string {
	value, err := schema.Decode(data, modeltext.MaxBytes)
	if err != nil {
		return "it has " + err.Error()
	}
	found, _, err := check.Findings(value)
	if err != nil {
		return err.Error()
	}
	return schema.Join(schema.Lines(found))
}
