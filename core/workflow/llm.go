package workflow

import (
	"encoding/json"
	"encoding/pem"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/core/workflow/template"
	"github.com/reflectory/reflectory/sdk"
)

// connection is how a language model is reached: the llm: block. It never has templates,
// so that nothing in the state can decide where a key is sent.
type connection map[string]json.RawMessage

func (c connection) part() part {
	var o object
	for _, key := range slices.Sorted(maps.Keys(c)) {
		o = append(o, field{key, constant(c[key])})
	}
	return o
}

// text is a setting that is a text; "" if it is missing or isn't one.
func (c connection) text(key string) string {
	var text string
	if c[key] == nil || json.Unmarshal(c[key], &text) != nil {
		return ""
	}
	return text
}

// connection reads an llm: block.
func (l *loader) connection(n *document.Node, what string) connection {
	b := l.block(n, what, blockLLM)
	b.oneOf("provider")
	b.oneOf("api")
	b.oneOf("reasoning_effort")
	b.Text("base_url")
	b.Text("model")
	b.texts("models")
	if b.Get("max_context") != nil {
		b.integer("max_context")
	}
	if dialect := b.Get("dialect"); dialect != nil {
		d := l.block(dialect, what+".dialect", blockDialect)
		d.texts("refuses")
		d.Done()
	}
	if b.Get("api_key_env") != nil {
		b.name("api_key_env", "name the variable that holds the key, such as OPENAI_API_KEY, not the key itself")
	}
	b.duration("timeout")
	b.Typed("ca", document.Text)
	b.Typed("extra_body", document.Mapping)
	b.Typed("extra_headers", document.Mapping)
	if price := b.Get("price"); price != nil {
		p := l.block(price, what+".price", blockPrice)
		for _, key := range []string{"in", "out"} {
			p.Need(key)
			p.number(key)
		}
		p.Done()
	}
	b.Done()
	c := connection{}
	for _, e := range b.Node.Entries {
		l.noTemplate(e.Value, what+"."+e.Key)
		if e.Key == "ca" && e.Value.Kind == document.Text {
			c[e.Key] = l.authorities(e.Value)
			continue
		}
		c[e.Key] = e.Value.JSON(nil)
	}
	return c
}

// noTemplate refuses templates anywhere in a value.
func (l *loader) noTemplate(n *document.Node, what string) {
	if n.Kind == document.Text && template.Is(n.Text) {
		l.Add(n.At, "", "%s can't hold a template", what)
	}
	for _, item := range n.Items {
		l.noTemplate(item, what)
	}
	for _, e := range n.Entries {
		l.noTemplate(e.Value, what+"."+e.Key)
	}
}

// authorities is the text of the file of authorities that a connection names.
func (l *loader) authorities(n *document.Node) json.RawMessage {
	name, ok := relativeToWorkflow(l.source.File, n.Text)
	if !ok {
		l.Add(n.At, "copy the file there; an operator names one anywhere as settings.llm.ca of reflectory.yaml, or as SSL_CERT_FILE", "%q is not in the workflow's folder", n.Text)
		return json.RawMessage(`""`)
	}
	text, ok := l.source.Files[name]
	switch {
	case !ok:
		l.Add(n.At, "", "there is no file %q in the workflow's folder", n.Text)
	case text == "":
		l.Add(n.At, "name a file that has one, between lines with BEGIN CERTIFICATE and END CERTIFICATE", "%q has no certificate in PEM", n.Text)
	}
	return jsontext.MustEncode(text)
}

// relativeToWorkflow is the path of a file relative to the folder of a workflow, which may also be
// named from the root.
func relativeToWorkflow(workflow, name string) (string, bool) {
	if filepath.IsAbs(name) {
		folder, err := filepath.Abs(filepath.Dir(workflow))
		if err != nil {
			return "", false
		}
		if name, err = filepath.Rel(folder, name); err != nil {
			return "", false
		}
		name = filepath.ToSlash(name)
	}
	return inFolder(name)
}

// onlyCertificates leaves out of a file whatever isn't a certificate, such as a private key:
// what a workflow names is stored with its runs.
func onlyCertificates(text string) string {
	var out strings.Builder
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return out.String()
		}
		if block.Type == "CERTIFICATE" {
			_ = pem.Encode(&out, &pem.Block{Type: block.Type, Bytes: block.Bytes})
		}
	}
}

// llm reads a call of a language model, as a judge or as a generator.
func (l *loader) llm(b *block, kind sdk.Kind) action.Step {
	names := stateOnly()
	judge := kind == sdk.KindEvaluator
	var config object
	var tools *action.Toolset
	var context part
	if judge {
		b.has(formLLM)
		b.only("prompt", "prompt_file")
		names = inJudgement()
		if n := b.Get("context"); n != nil {
			context = l.part(n, []string{"output", "state"})
			config = append(config, field{"context", context})
		}
		if n := b.Typed("examples", document.List); n != nil {
			config = append(config, field{"examples", l.part(n, names)})
		}
		config = append(config, l.scale(b)...)
	} else {
		config = l.callParts(b, names)
		var offered object
		tools, offered = l.toolset(b)
		config = append(config, offered...)
	}
	for _, key := range []string{"model", "prompt", "system"} {
		if n := b.Typed(key, document.Text); n != nil {
			config = append(config, field{key, l.template(n, names, true)})
		}
	}
	if n := b.Typed("prompt_file", document.Text); n != nil {
		config = append(config, field{"prompt", l.promptFile(n, names)})
	}
	config = append(config, l.sampling(b, names)...)
	settings := maps.Clone(l.llmSettings)
	if n := b.Get("llm"); n != nil {
		maps.Copy(settings, l.connection(n, "llm"))
	}
	if len(settings) == 0 {
		l.Add(b.Node.At, llmHint, "the %s needs a language model, and settings.llm is missing", b.What)
	}
	config = append(config, field{"llm", settings.part()})
	l.use(LLMPlugin, kind, settings.text("api_key_env"))
	l.reach(LLMPlugin, settings.text("base_url"), settings.text("api_key_env"))
	l.llmSteps = append(l.llmSteps, settings)
	return action.Step{
		Plugin: LLMPlugin, Config: newValue(config, context), Timeout: timeout(b, defaultLLMTimeout),
		Cache: !judge && b.Flag("cache"), Tools: tools,
	}
}

// llmHint shows how a model is configured.
const llmHint = `write in the workflow: settings: {llm: {provider: ollama, base_url: "http://127.0.0.1:11434", model: "llama3.2"}}`

// scale reads the highest score that a judge gives.
func (l *loader) scale(b *block) object {
	n := b.Get("scale")
	if n == nil {
		return nil
	}
	if v := b.integer("scale"); v != 1 && v != 10 && v != 100 {
		l.Add(n.At, "", "scale must be 1, 10 or 100")
	}
	return object{{"scale", constant(n.JSON(nil))}}
}

// callParts reads the keys that an llm.call has, but a judge doesn't.
func (l *loader) callParts(b *block, names []string) (config object) {
	b.has(formCall)
	b.only("prompt", "prompt_file", "messages")
	b.oneOf("parse")
	if n := b.Get("response_schema"); n != nil {
		if n.Kind != document.Mapping && n.Kind != document.Bool {
			l.Add(n.At, "", "response_schema must be a mapping or a boolean, not %s", n.Kind)
		}
		config = append(config, field{"response_schema", constant(n.JSON(nil))})
	}
	if n := b.Get("parse"); n != nil {
		config = append(config, field{"parse", constant(n.JSON(nil))})
	}
	if n := b.Typed("messages", document.List); n != nil {
		config = append(config, field{"messages", l.messages(n, names)})
	}
	if b.Get("prompt") == nil && b.Get("prompt_file") == nil && b.Get("messages") == nil {
		b.Lacks("", "llm.call needs the key \"prompt\", \"prompt_file\" or \"messages\"")
	}
	return config
}

// sampling reads how the model chooses its words: each setting is a value, or a template
// that is exactly one expression, so that it has the value's type.
func (l *loader) sampling(b *block, names []string) (config object) {
	for _, key := range []string{"temperature", "top_p", "seed", "max_tokens"} {
		n := b.Get(key)
		switch {
		case n == nil:
			continue
		case n.Kind == document.Text && template.Is(n.Text):
			p := l.template(n, names, false)
			if t, ok := p.(templated); ok && !t.Single() {
				l.Add(n.At, "", "%s must be a number, or exactly one {{ … }}", key)
			}
			config = append(config, field{key, p})
			continue
		case b.key(key).Type == TypeNumber:
			b.number(key)
		default:
			b.integer(key)
		}
		config = append(config, field{key, constant(n.JSON(nil))})
	}
	if n := b.Get("stop"); n != nil {
		if n.Kind != document.Text && n.Kind != document.List {
			l.Add(n.At, "", "stop must be text or a list of texts, not %s", n.Kind)
		}
		config = append(config, field{"stop", l.part(n, names)})
	}
	return config
}

// promptFile is the template in a file of the workflow's folder.
func (l *loader) promptFile(n *document.Node, names []string) part {
	clean, ok := inFolder(n.Text)
	if !ok {
		l.Add(n.At, "copy the file there", "%q is not in the workflow's folder", n.Text)
		return constant(`""`)
	}
	text, ok := l.source.Files[clean]
	if !ok {
		l.Add(n.At, "", "there is no file %q in the workflow's folder", n.Text)
		return constant(`""`)
	}
	if !template.Is(text) {
		return constant(jsontext.MustEncode(text))
	}
	t, found := template.Compile(text, names)
	for _, p := range found {
		line, column := lineOf(text, p.Offset)
		l.Add(n.At, p.Hint, "%s:%d:%d: template: %s", clean, line, column, p.Message)
	}
	if t == nil {
		return constant(`""`)
	}
	return templated{Template: t, asText: true, place: clean}
}

// lineOf is the line and column of a byte, both from 1.
func lineOf(text string, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}
