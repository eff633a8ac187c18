package llmeval

import (
	"net/http"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk/modeltext"
)

// protocol is what differs between kinds of endpoints. All else is shared: retries, dialects,
// limits, keys and usage. Each is a file with its request; its replies are read by
// [modeltext.Protocol].
type protocol struct {
	replies modeltext.Protocol
	// path is the path of a call under the endpoint's base.
	path string
	// base describes llm.base_url in a hint.
	base string
	// lines means that a stream is JSON values one after another, and a whole reply a stream of
	// one.
	lines bool
	// files are the media type of files that a message may have, "any" for all; "" is none. noURLs means
	// that the endpoint reads no addresses, and noFileURLs none of files.
	files              string
	noURLs, noFileURLs bool
	// lacks is the dialect in which nothing is sent that the protocol doesn't have.
	lacks dialect
	// authorize adds the headers that the protocol wants, with the key unless it is "".
	authorize func(h http.Header, key string)
	// request is the body of a request.
	request func(x *exchange, stream bool) any
}

// Values of llm.api, for the provider openai.
const (
	apiChat      = "chat"
	apiResponses = "responses"
)

// protocolOf is the protocol of a provider at a base URL.
func protocolOf(provider, api, base string) *protocol {
	switch {
	case provider == providerAnthropic:
		return messagesProtocol()
	case provider == providerOllama && !strings.HasSuffix(base, "/v1"):
		return ollamaProtocol()
	case provider == providerOpenAI && api == apiResponses:
		return responsesProtocol()
	}
	return chatProtocol()
}

func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// messages are the question's messages, with the words that ask for its form if the endpoint has
// no structured output.
func (x *exchange) messages() []message {
	q := x.question
	messages := q.messages[:len(q.messages):len(q.messages)]
	if f, _ := x.form(); q.form != nil && f == nil && q.form.words != "" {
		messages = append(messages, message{Role: roleUser, Content: q.form.words})
	}
	if !x.dialect.noSystem {
		return messages
	}
	system, others := apart(messages)
	first := slices.IndexFunc(others, func(m message) bool { return m.Role == roleUser })
	switch {
	case system == "":
	case first < 0:
		others = append([]message{{Role: roleUser, Content: system}}, others...)
	default:
		others = slices.Clone(others)
		others[first].Content = system + "\n\n" + others[first].Content
		if parts := others[first].Parts; parts != nil {
			others[first].Parts = append([]part{{Type: partText, Text: system}}, parts...)
		}
	}
	return others
}

// form is what is requested as structured output: a form by its schema, any JSON object, or, if
// kind is "", nothing.
func (x *exchange) form() (f *form, kind string) {
	f = x.question.form
	switch {
	case f == nil:
	case x.dialect.format == bySchema:
		return f, fieldSchema
	case x.dialect.format == byJSONMode && !x.dialect.noJSONMode && f.object():
		return nil, "json_object"
	}
	return nil, ""
}

// sampling is the question's sampling, without what the model refuses.
func (x *exchange) sampling() sampling {
	s, d := x.question.sampling, x.dialect
	if d.noTemperature {
		s.temperature = nil
	}
	if d.noTopP {
		s.topP = nil
	}
	if d.noSeed {
		s.seed = nil
	}
	if d.noStop {
		s.stop = nil
	}
	if d.tokens == noTokens {
		s.maxTokens = 0
	}
	return s
}

// effort is how much the model is asked to think; "" leaves it to the endpoint.
func (x *exchange) effort() string {
	if x.dialect.noEffort {
		return ""
	}
	return x.endpoint.effort
}

// apart separates the system messages, joined, from the others. Without others, they are what the
// user says.
func apart(messages []message) (system string, others []message) {
	var texts []string
	for _, m := range messages {
		if m.Role == roleSystem {
			texts = append(texts, m.Content)
			continue
		}
		others = append(others, m)
	}
	system = strings.Join(texts, "\n\n")
	if len(others) == 0 {
		return "", []message{{Role: roleUser, Content: system}}
	}
	return system, others
}
