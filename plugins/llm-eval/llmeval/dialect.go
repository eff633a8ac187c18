package llmeval

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// dialect lists the parts of the protocol that an endpoint's model doesn't accept. Each
// field is learned from a refusal.
type dialect struct {
	// noFormat: no structured output; the reply is found in the text.
	noFormat bool
	// noTemperature: only the model's own temperature is possible (reasoning models). The
	// other fields of sampling likewise.
	noTemperature, noTopP, noSeed, noStop bool
	// tokens is how the limit of a reply is written.
	tokens tokenField
	// stream is whether replies are streamed.
	stream streaming
}

// tokenField is the field for the limit of a reply.
type tokenField int

const (
	maxTokens           tokenField = iota // max_tokens
	maxCompletionTokens                   // max_completion_tokens, for reasoning models
	noTokens                              // none
)

// streaming is whether a model's replies are streamed.
type streaming int

const (
	streamIfWatched streaming = iota // if somebody sees the pieces
	streamNever
	streamAlways // the model only streams
)

// The fields that a model may refuse, in addition to those of [dialect.sampling].
const (
	fieldFormat = "response_format"
	fieldStream = "stream"
)

// fieldWords find the fields that a message names. Three of the names are also everyday
// words, so those count only where they are quoted or called a parameter.
var fieldWords = sync.OnceValue(func() map[string]*regexp.Regexp {
	words := map[string]*regexp.Regexp{
		fieldFormat: regexp.MustCompile(`(?i)response[ _]format|json[ _-]?(schema|mode|object)|structured[ _-]outputs?|guided[ _-](json|decoding)`),
		fieldStream: regexp.MustCompile(`(?i)\b(non[ -]?)?stream(s|ed|ing)?\b|\bstream_options\b`),
	}
	for _, name := range []string{"temperature", "top_p", "max_tokens", "max_completion_tokens"} {
		words[name] = regexp.MustCompile(`(?i)\b` + name + `\b`)
	}
	for _, name := range []string{"seed", "stop"} {
		words[name] = regexp.MustCompile(strings.ReplaceAll(`(?i)["'`+"`"+`\[(]F["'`+"`"+`\])]`+
			`|\b(parameters?|params?|fields?|arguments?|options?|property|supports?)\b\s*[:=]?\s*F\b`+
			`|\bF\b\s*([:=]|parameters?|params?|fields?|arguments?|options?|sequences?|is(n't| not| un)|are(n't| not)|not\b|un(supported|known|recognized)|can(not|'t))`, "F", name))
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
			if part == "stream_options" {
				part = fieldStream
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
		if found != nil && found[0] < at && d.mayDrop(q, name, f) {
			first, at = name, found[0]
		}
	}
	return first
}

// mayDrop reports whether a field was sent, or left out, so that a message may be about it.
// If only its value is wrong, and the config has the value, the config has to change.
func (d dialect) mayDrop(q *question, field string, f *fault) bool {
	own := field == fieldFormat || field == fieldStream || field == "temperature" && q.defaultTemperature
	dropped := d
	dropped.drop(q, field, f.streamed)
	return dropped != d && (own || !ofValue.MatchString(f.said))
}

// drop leaves a field out, if the question has it; streamed is whether a stream was asked for.
func (d *dialect) drop(q *question, field string, streamed bool) {
	s := q.sampling
	switch field {
	case fieldFormat:
		d.noFormat = d.noFormat || q.form != nil
	case fieldStream:
		switch {
		case d.stream != streamIfWatched: // it refuses both
		case streamed:
			d.stream = streamNever
		default:
			d.stream = streamAlways
		}
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
	} {
		if f.gone {
			fields = append(fields, f.name)
		}
	}
	return slices.Clip(fields)
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

type modelName struct{ url, model string }

func newDialects() *dialects { return &dialects{byModel: map[modelName]dialect{}} }

func (d *dialects) of(e *endpoint) dialect {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byModel[modelName{e.url, e.model}]
}

// remember records a dialect in which the model replied.
func (d *dialects) remember(e *endpoint, learned dialect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.byModel) >= maxDialects {
		clear(d.byModel)
	}
	d.byModel[modelName{e.url, e.model}] = learned
}
