package workflow

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/workflow/template"
)

// connection is how a language model is reached: the llm: block. It is never
// templated, so that nothing in the state decides where a key is sent.
type connection map[string]json.RawMessage

func (c connection) part() part {
	var o object
	for _, key := range slices.Sorted(maps.Keys(c)) {
		o = append(o, field{key, constant(c[key])})
	}
	return o
}

// text is a setting that is a text; "" where it isn't there, or isn't one.
func (c connection) text(key string) string {
	var text string
	if c[key] == nil || json.Unmarshal(c[key], &text) != nil {
		return ""
	}
	return text
}

// connection reads an llm: block.
func (l *loader) connection(n *document.Node, what string) connection {
	b := l.block(n, what)
	b.oneOf("provider", "openai", "ollama")
	b.Text("base_url")
	b.Text("model")
	if b.Get("api_key_env") != nil {
		b.name("api_key_env", envForm, "name the variable that holds the key, such as OPENAI_API_KEY, not the key itself")
	}
	b.duration("timeout")
	if price := b.Get("price"); price != nil {
		p := l.block(price, what+".price")
		for _, key := range []string{"in", "out"} {
			p.Need(key)
			p.number(key, 0, math.MaxFloat64)
		}
		p.Done()
	}
	b.Done()
	c := connection{}
	for _, e := range b.Node.Entries {
		if e.Value.Kind == document.Text && template.Is(e.Value.Text) {
			l.Add(e.Value.At, "", "%s.%s can't hold a template", what, e.Key)
		}
		c[e.Key] = e.Value.JSON(nil)
	}
	return c
}
