package llmeval

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// dialect lists the parts of the protocol that an endpoint's model doesn't accept. Each
// field is learned from a refusal.
type dialect struct {
	// format is how the form of a reply is asked for.
	format formatting
	// noJSONMode: the protocol can't ask for any JSON object.
	noJSONMode bool
	// noSystem: there are no system messages; what they say goes before what the user says.
	noSystem bool
	// noTemperature: only the model's own temperature is possible (reasoning models). The
	// other fields of sampling likewise.
	noTemperature, noTopP, noSeed, noStop bool
	// noEffort: how much the model thinks can't be chosen.
	noEffort bool
	// tokens is how the limit of a reply is written.
	tokens tokenField
	// stream is whether replies are streamed.
	stream streaming
}

// formatting is how the form of a reply is asked for. Each way is tried if the one before is
// refused.
type formatting int

const (
	bySchema   formatting = iota // structured output
	byJSONMode                   // a JSON object, whose schema is in the prompt
	byWords                      // the prompt alone; the reply is found in the text
)

// tokenField is the field for the limit of a reply.
type tokenField int

const (
	maxTokens           tokenField = iota // max_tokens
	maxCompletionTokens                   // max_completion_tokens, for reasoning models
	noTokens                              // none
	ownTokens                             // the field of a protocol other than chat completions
)

// streaming is whether a model's replies are streamed.
type streaming int

const (
	streamIfWatched streaming = iota // if somebody sees the pieces
	streamNever
	streamAlways // the model only streams
)

// The fields that a model may refuse, in addition to the ones of [dialect.sampling].
const (
	fieldFormat = "response_format"
	// fieldSchema is a schema in structured output, and fieldSystem a system message.
	fieldSchema = "json_schema"
	fieldSystem = "system"
	fieldStream = "stream"
	fieldEffort = "reasoning_effort"
	// fieldWhole is a reply that isn't streamed, in a config.
	fieldWhole = "whole_replies"
)

// fieldWords find the fields that a message names. Three of the names are also everyday
// words, so those count only where they are quoted or called a parameter.
var fieldWords = sync.OnceValue(func() map[string]*regexp.Regexp {
	words := map[string]*regexp.Regexp{
		fieldFormat: regexp.MustCompile(`(?i)response[ _]format|\boutput_(format|config\.format)\b|\btext\.format\b|json[ _-]?(schema|mode|object)|structured[ _-]outputs?|guided[ _-](json|decoding)`),
		fieldSchema: regexp.MustCompile(`(?i)\bjson[ _-]?schema\b|\bresponse[ _]format[. ]type\b|\bguided[ _-]json\b`),
		fieldSystem: regexp.MustCompile(`(?i)\bsystem['"]?[ _-]?(role|messages?|prompts?|instructions?)\b|\brole\b.{0,40}\bsystem\b|\bdeveloper instruction|\bonly user (and|or) assistant roles|\broles must alternate\b`),
		fieldStream: regexp.MustCompile(`(?i)\b(non[ -]?)?stream(s|ed|ing)?\b|\bstream_options\b`),
		fieldEffort: regexp.MustCompile(`(?i)\breasoning([ _.]effort)?\b|\beffort\b|\bthink(ing)?\b`),
	}
	for _, name := range []string{"temperature", "top_p", "max_tokens", "max_completion_tokens"} {
		words[name] = regexp.MustCompile(`(?i)\b` + name + `\b`)
	}
	for name, also := range map[string]string{"seed": "seed", "stop": "(stop|stop_sequences)"} {
		words[name] = regexp.MustCompile(strings.ReplaceAll(`(?i)["'`+"`"+`\[(]F["'`+"`"+`\])]`+
			`|\b(parameters?|params?|fields?|arguments?|options?|property|supports?)\b\s*[:=]?\s*F\b`+
			`|\bF\b\s*([:=]|parameters?|params?|fields?|arguments?|options?|sequences?|is(n't| not| un)|are(n't| not)|not\b|un(supported|known|recognized)|can(not|'t))`, "F", also))
	}
	return words
})

// ofValue matches a message about the size of a value, rather than about its field.
var ofValue = regexp.MustCompile(`(?i)\btoo (large|small|high|low|big|long|many)\b|\bat (most|least)\b|\b(max|min)imum\b|\b(greater|less|larger|smaller|more) than\b|\bexceed|\brange\b|\bbetween\b`)

// noEndpoint matches a router's message that no endpoint of the model does what is asked of
// it. Its status is 404, as for a model that is missing.
var noEndpoint = regexp.MustCompile(`(?i)\bno (\w+ )?(endpoint|provider)s?\b.*\b(support|handle|match|available)`)

// adapt finds the dialect in which a refused question may be sent again: without the field
// that the endpoint refuses, by its name or by its message.
func (d dialect) adapt(q *question, f *fault) (dialect, bool) {
	adapted := d
	switch f.status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
	case http.StatusOK: // an error in a reply
	case http.StatusNotFound:
		if !noEndpoint.MatchString(f.text) {
			return d, false
		}
	default:
		return d, false
	}
	field := d.refused(q, f)
	if field == "" && f.param == "" && f.status != http.StatusOK {
		field = fieldFormat // many endpoints don't name what they refuse; this is the usual one
	}
	adapted.drop(q, field, f.streamed)
	return adapted, adapted != d
}

// refused is the field that a refusal is about, "" if it isn't one that was sent.
func (d dialect) refused(q *question, f *fault) string {
	words := fieldWords()
	if f.param != "" {
		for part := range strings.FieldsFuncSeq(strings.ToLower(f.param), func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
			switch part {
			case "stream_options":
				part = fieldStream
			case "stop_sequences":
				part = "stop"
			case "effort", "reasoning", "thinking", "think":
				part = fieldEffort
			case "role": // messages[0].role
				part = fieldSystem
			case "format", "output_format": // text.format, output_config.format
				part = fieldFormat
			}
			if part == fieldFormat && words[fieldSchema].MatchString(f.said) && d.mayDrop(q, fieldSchema, f) {
				part = fieldSchema
			}
			if words[part] != nil && d.mayDrop(q, part, f) {
				return part
			}
		}
		return ""
	}
	first, at := "", len(f.said)
	for name, word := range words {
		found := word.FindStringIndex(f.said)
		if found != nil && (found[0] < at || found[0] == at && name == fieldSchema) && d.mayDrop(q, name, f) {
			first, at = name, found[0]
		}
	}
	return first
}

// mayDrop reports whether a field was sent, or left out, so that a message may be about it.
// If only its value is wrong, and the config has the value, the config has to change.
func (d dialect) mayDrop(q *question, field string, f *fault) bool {
	own := field == fieldFormat || field == fieldSchema || field == fieldStream || field == "temperature" && q.defaultTemperature
	dropped := d
	dropped.drop(q, field, f.streamed)
	return dropped != d && (own || !ofValue.MatchString(f.said))
}

// drop leaves a field out, if the question has it; streamed is whether a stream was asked for.
func (d *dialect) drop(q *question, field string, streamed bool) {
	s := q.sampling
	switch field {
	case fieldFormat:
		if q.form != nil {
			d.format = byWords
		}
	case fieldSchema:
		if d.format == bySchema && !d.noJSONMode && q.form != nil && q.form.object() {
			d.format = byJSONMode
		}
	case fieldSystem:
		d.noSystem = d.noSystem || slices.ContainsFunc(q.messages, func(m message) bool { return m.Role == roleSystem })
	case fieldStream:
		switch {
		case d.stream != streamIfWatched: // it refuses both
		case streamed:
			d.stream = streamNever
		default:
			d.stream = streamAlways
		}
	case fieldEffort:
		d.noEffort = d.noEffort || q.effort != ""
	case "temperature":
		d.noTemperature = d.noTemperature || s.temperature != nil
	case "top_p":
		d.noTopP = d.noTopP || s.topP != nil
	case "seed":
		d.noSeed = d.noSeed || s.seed != nil
	case "stop":
		d.noStop = d.noStop || len(s.stop) > 0
	case "max_tokens":
		if s.maxTokens > 0 && d.tokens == maxTokens {
			d.tokens = maxCompletionTokens
		}
	case "max_completion_tokens":
		if s.maxTokens > 0 && d.tokens == maxCompletionTokens {
			d.tokens = noTokens
		}
	}
}

// notSent lists the fields of a config that the model isn't sent.
func (d dialect) notSent(q *question) (fields []string) {
	s := q.sampling
	for _, f := range []struct {
		name string
		gone bool
	}{
		{"temperature", d.noTemperature && s.temperature != nil && !q.defaultTemperature},
		{"top_p", d.noTopP && s.topP != nil},
		{"seed", d.noSeed && s.seed != nil},
		{"stop", d.noStop && len(s.stop) > 0},
		{"max_tokens", d.tokens == noTokens && s.maxTokens > 0},
		{fieldEffort, d.noEffort && q.effort != ""},
	} {
		if f.gone {
			fields = append(fields, f.name)
		}
	}
	return slices.Clip(fields)
}

// refuses lists what the model is known to refuse and its protocol has, in the words of
// llm.dialect.refuses.
func (e *endpoint) refuses(d dialect) (fields []string) {
	lacks := e.protocol.lacks
	for _, f := range []struct {
		name string
		gone bool
	}{
		{fieldFormat, d.format == byWords},
		{fieldSchema, d.format == byJSONMode},
		{fieldSystem, d.noSystem},
		{"temperature", d.noTemperature},
		{"top_p", d.noTopP},
		{"seed", d.noSeed && !lacks.noSeed},
		{"stop", d.noStop && !lacks.noStop},
		{"max_tokens", d.tokens == maxCompletionTokens || d.tokens == noTokens},
		{"max_completion_tokens", d.tokens == noTokens},
		{fieldEffort, d.noEffort},
		{fieldStream, d.stream == streamNever},
		{fieldWhole, d.stream == streamAlways},
	} {
		if f.gone {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// decodeDialect reads what the config says that the model refuses, so that it isn't asked first,
// in addition to what its protocol lacks.
func decodeDialect(llm *jsonconfig.Object, p *protocol) dialect {
	d := p.lacks
	own := llm.Object("dialect")
	var refuses []string
	own.Take("refuses", "a list of texts", &refuses)
	for _, field := range refuses {
		gone := map[string]*bool{
			"temperature": &d.noTemperature, "top_p": &d.noTopP, "seed": &d.noSeed, "stop": &d.noStop,
			fieldEffort: &d.noEffort, fieldSystem: &d.noSystem,
		}[field]
		switch {
		case gone != nil:
			*gone = true
		case field == fieldFormat:
			d.format = byWords
		case field == fieldSchema:
			d.format = max(d.format, byJSONMode)
		case field == "max_tokens" && d.tokens != ownTokens:
			d.tokens = max(d.tokens, maxCompletionTokens)
		case field == "max_completion_tokens" && d.tokens != ownTokens:
			d.tokens = noTokens
		case field == fieldStream:
			d.stream = streamNever
		case field == fieldWhole:
			d.stream = streamAlways
		default:
			own.Report("refuses has %q, which isn't a field that can be left out", field)
		}
	}
	own.Done()
	return d
}

// maxDialects limits how many dialects are remembered; a workflow uses a handful of
// models.
const maxDialects = 256

// dialects remembers what was learned, so that each refusal is paid for once. A judge's
// config changes with the output in its prompt, so this lives longer than a config.
type dialects struct {
	mu      sync.Mutex
	byModel map[modelName]dialect
}

// modelName names a model by the address of its calls, and what the config says about it.
type modelName struct {
	url, model string
	config     dialect
}

func nameOf(e *endpoint) modelName {
	return modelName{e.url + e.protocol.path, e.model, e.dialect}
}

func newDialects() *dialects { return &dialects{byModel: map[modelName]dialect{}} }

// of is what was learned about a model, or what its config says about it.
func (d *dialects) of(e *endpoint) dialect {
	d.mu.Lock()
	defer d.mu.Unlock()
	if learned, ok := d.byModel[nameOf(e)]; ok {
		return learned
	}
	return e.dialect
}

// remember records a dialect in which the model replied.
func (d *dialects) remember(e *endpoint, learned dialect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.byModel) >= maxDialects {
		clear(d.byModel)
	}
	d.byModel[nameOf(e)] = learned
}
