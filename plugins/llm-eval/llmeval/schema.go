package llmeval

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// replySchema is the JSON Schema that a reply must fit. Endpoints keep to it more
// or less, some not at all, so each reply is checked. Its nil is none.
type replySchema struct {
	source   json.RawMessage
	compiled *jsonschema.Schema
}

// noDocuments refuses what a schema refers to outside itself.
type noDocuments struct{}

func (noDocuments) Load(string) (any, error) {
	return nil, errors.New("it refers to another document, and none is fetched")
}

// compileSchema compiles a schema, of draft 7 where it doesn't say.
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

// form asks an endpoint for it. Strict mode wants every property required and no
// others, which few schemas say, so endpoints are left to do their best.
func (s *replySchema) form() *form {
	if s == nil {
		return nil
	}
	return &form{name: "reply", schema: s.source, words: "Reply with one JSON value and nothing else. It must fit this JSON Schema:\n" + string(s.source)}
}

// check says what of a value doesn't fit, with its places.
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
