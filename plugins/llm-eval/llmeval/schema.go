package llmeval

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// replySchema is the JSON Schema that a reply must match. Endpoints follow it more or
// less, and some not at all, so each reply is checked. A nil replySchema accepts
// everything.
type replySchema struct {
	source   json.RawMessage
	compiled *jsonschema.Schema
}

// noDocuments refuses references to other documents.
type noDocuments struct{}

func (noDocuments) Load(string) (any, error) {
	return nil, errors.New("it refers to another document, and none is fetched")
}

// compileSchema compiles a schema. Its draft is 7 unless it names another.
func compileSchema(source json.RawMessage) (*replySchema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		return nil, err
	}
	const uri = "response_schema.json"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	c.AssertFormat()
	c.UseLoader(noDocuments{})
	if err := c.AddResource(uri, document); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(uri)
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

// check reports which parts of a value don't match, and where they are.
func (s *replySchema) check(value json.RawMessage) error {
	if s == nil {
		return nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err
	}
	var misfit *jsonschema.ValidationError
	if err := s.compiled.Validate(document); !errors.As(err, &misfit) {
		return err
	}
	_, places, _ := strings.Cut(misfit.Error(), "\n") // the first line names the schema
	return errors.New(cut(strings.ReplaceAll(strings.TrimPrefix(places, "- "), "\n- ", "; "), excerptRunes))
}

// fits reports for each value of a reply whether it matches; nil if any value does.
func (s *replySchema) fits() func(json.RawMessage) bool {
	if s == nil {
		return nil
	}
	return func(value json.RawMessage) bool { return s.check(value) == nil }
}
