package workflow

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/core/workflow/template"
	"github.com/reflectory/reflectory/sdk"
)

// part is a piece of a value that may hold templates. It appends its JSON.
type part interface {
	append(out []byte, vars map[string]any) ([]byte, error)
}

// constant is JSON without templates.
type constant json.RawMessage

func (c constant) append(out []byte, _ map[string]any) ([]byte, error) {
	return append(out, c...), nil
}

// templated is a text with templates.
type templated struct {
	*template.Template
	// asText turns even a single {{ expr }} into text, where only text is allowed.
	asText bool
	place  string
}

func (t templated) append(out []byte, vars map[string]any) ([]byte, error) {
	var data []byte
	var err error
	if t.asText {
		var text string
		if text, err = t.Text(vars); err == nil {
			data = jsontext.MustEncode(text)
		}
	} else {
		data, err = t.JSON(vars)
	}
	if err != nil {
		return nil, sdk.Wrap(t.place, err)
	}
	return append(out, data...), nil
}

// field is a key of an object.
type field struct {
	key   string
	value part
}

type object []field

// with is the object with another value of a key.
func (o object) with(key string, value part) object {
	return append(slices.DeleteFunc(o, func(f field) bool { return f.key == key }), field{key, value})
}

func (o object) append(out []byte, vars map[string]any) ([]byte, error) {
	out = append(out, '{')
	for i, f := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, jsontext.MustEncode(f.key)...), ':')
		var err error
		if out, err = f.value.append(out, vars); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

type list []part

func (l list) append(out []byte, vars map[string]any) ([]byte, error) {
	out = append(out, '[')
	for i, p := range l {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = p.append(out, vars); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// isConstant reports whether a part holds no template.
func isConstant(p part) bool {
	switch p := p.(type) {
	case templated:
		return false
	case object:
		for _, f := range p {
			if !isConstant(f.value) {
				return false
			}
		}
	case list:
		for _, e := range p {
			if !isConstant(e) {
				return false
			}
		}
	}
	return true
}

// value is a [action.Value] with templates.
type value struct {
	part part
	// context, unless nil, is rendered first, and the other parts see the result as their
	// context.
	context part
}

// sampled reports whether all templates of a part produce text, and returns the part with
// sample texts instead.
func sampled(p part) (part, bool) {
	switch p := p.(type) {
	case templated:
		return constant(`"…"`), p.asText
	case object:
		out := make(object, len(p))
		for i, f := range p {
			v, ok := sampled(f.value)
			if !ok {
				return nil, false
			}
			out[i] = field{f.key, v}
		}
		return out, true
	case list:
		out := make(list, len(p))
		for i, e := range p {
			v, ok := sampled(e)
			if !ok {
				return nil, false
			}
			out[i] = v
		}
		return out, true
	}
	return p, true
}

// newValue makes a value from a part; a part without templates is encoded here, once.
func newValue(p, context part) action.Value {
	if isConstant(p) {
		data, _ := p.append(nil, nil) // only templates fail
		return action.Constant(data)
	}
	return &value{part: p, context: context}
}

func (v *value) Constant() bool { return false }

// Sample implements [action.Sampler].
func (v *value) Sample() json.RawMessage {
	p, ok := sampled(v.part)
	if !ok {
		return nil
	}
	data, _ := p.append(nil, nil) // only templates fail
	return data
}

// Render implements [action.Value].
func (v *value) Render(seen action.Variables) (json.RawMessage, error) {
	vars := map[string]any{}
	for name, data := range map[string]json.RawMessage{"state": seen.State, "output": seen.Output, "context": seen.Context} {
		if len(data) == 0 {
			vars[name] = nil
			continue
		}
		decoded, err := jsontext.Decode(data)
		if err != nil {
			return nil, sdk.Wrap("read "+name+" for templates", err)
		}
		vars[name] = decoded
	}
	if v.context != nil {
		data, err := v.context.append(nil, vars)
		if err != nil {
			return nil, err
		}
		if vars["context"], err = jsontext.Decode(data); err != nil {
			return nil, sdk.Wrap("read context for templates", err)
		}
	}
	return v.part.append(nil, vars)
}

// Names of variables in templates.
func stateOnly() []string   { return []string{"state"} }
func inJudgement() []string { return []string{"context", "output", "state"} }

// part compiles the templates of a value. Keys never have templates.
func (l *loader) part(n *document.Node, names []string) part {
	switch n.Kind {
	case document.Text:
		return l.template(n, names, false)
	case document.Mapping:
		o := object{}
		for _, e := range n.Entries {
			o = append(o, field{e.Key, l.part(e.Value, names)})
		}
		return o
	case document.List:
		all := list{}
		for _, item := range n.Items {
			all = append(all, l.part(item, names))
		}
		return all
	}
	return constant(n.JSON(nil))
}

// template compiles one text, whose problems have their positions in the file.
func (l *loader) template(n *document.Node, names []string, asText bool) part {
	if !template.Is(n.Text) {
		return constant(n.JSON(nil))
	}
	t, found := template.Compile(n.Text, names)
	for _, p := range found {
		l.Add(n.Place(p.Offset), p.Hint, "template: %s", p.Message)
	}
	if t == nil {
		return constant("null")
	}
	return templated{Template: t, asText: asText, place: fmt.Sprintf("%s:%d:%d", l.source.File, n.At.Line, n.At.Column)}
}
