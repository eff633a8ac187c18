package llmeval

import (
	"net/http"
	"sync"
)

// dialect lists the parts of the protocol that an endpoint's model doesn't accept. Each
// field is learned from a refusal.
type dialect struct {
	// noFormat: no structured output; the reply is found in the text.
	noFormat bool
	// noTemperature: only the model's own temperature is possible (reasoning models).
	noTemperature bool
	// completionTokens: max_completion_tokens instead of max_tokens.
	completionTokens bool
	// noStream: whole replies only.
	noStream bool
}

// adapt finds the dialect in which a refused question may be sent again. A field that
// the config sets explicitly isn't dropped. The exception is the stream, which only
// makes a difference to watchers.
func (d dialect) adapt(q *question, f *fault) (dialect, bool) {
	if f.status != http.StatusBadRequest && f.status != http.StatusUnprocessableEntity {
		return d, false
	}
	adapted := d
	switch f.param {
	case "temperature":
		adapted.noTemperature = q.defaultTemperature
	case "max_tokens":
		adapted.completionTokens = q.sampling.maxTokens > 0
	case "stream", "stream_options":
		adapted.noStream = q.emit != nil
	case "", "response_format", "response_format.type", "response_format.json_schema":
		// Many endpoints don't name the field that they refuse; this is the usual one.
		adapted.noFormat = q.form != nil
	}
	return adapted, adapted != d
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

// learn records a dialect in which the model replied.
func (d *dialects) learn(e *endpoint, learned dialect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.byModel) >= maxDialects {
		clear(d.byModel)
	}
	d.byModel[modelName{e.url, e.model}] = learned
}
