package gateway

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/reflectory/reflectory/cmd/host/internal/jsoncheck"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Limits of requests. A body is bounded by what mounts the handler too.
const (
	maxBody  = 32 << 20
	maxDepth = jsontext.MaxDepth
	// maxItems bounds the messages, parts and tools of a request: the most messages that a provider
	// documents for one (Anthropic).
	maxItems = 100_000
	// maxSession bounds a session in the client's words, in bytes.
	maxSession = 512
)

// request is a client's request, with the places of its edits.
type request struct {
	gateway.Request
	body []byte
	// model is the value of the model's name.
	model node
	// slots are where text is added to a message, by its index in Messages, and which replies to a
	// reply: after the last message.
	slots  []slot
	system slot
	after  slot
	// hosted are the names of tools that are none of the request's functions, though their calls look
	// alike.
	hosted map[string]bool
	// kept is whether the upstream is asked to keep the reply, in a shape in which it otherwise doesn't.
	kept bool
	// usage asks for the usage in a stream; the zero value means that the client asked itself.
	usage edit
}

// slot is a place where a text can be added as JSON: between before and after.
type slot struct {
	at            int
	before, after string
	over          int // how many bytes are replaced: a null
}

// edit replaces the bytes from at to end.
type edit struct {
	at, end int
	text    []byte
}

func (s slot) add(text string) edit {
	quoted := quote(text)
	return edit{s.at, s.at + s.over, slices.Concat([]byte(s.before), quoted[1:len(quoted)-1], []byte(s.after))}
}

// quote is a text as a JSON string.
func quote(text string) []byte { return jsontext.MustEncode(text) }

// parse reads a client's request. A body that decoding would change silently is refused: a name that
// an object has twice could be read in one way here and in another by the upstream.
func parse(s shape, body []byte, h http.Header) (*request, error) {
	if err := jsoncheck.Check(body, "the body", maxDepth); err != nil {
		return nil, err
	}
	top := root(body)
	if !top.is('{') {
		return nil, invalid("", "the body is %s where an object must be", jsontext.Kind(body))
	}
	r := &request{body: body, model: top.get("model")}
	if r.Model = r.model.str(); r.Model == "" || len(r.Model) > maxSession {
		return nil, invalid("/model", "model is missing, or not the name of a model")
	}
	r.Stream, r.Choices = top.get("stream").is('t'), 1
	if err := s.read(r, top); err != nil {
		return nil, err
	}
	r.Session = cmp.Or(named(h), r.Session)
	return r, nil
}

// invalid is the refusal of a value in a request.
func invalid(pointer, format string, args ...any) error {
	return sdk.Errorf(sdk.Invalid, "request_invalid", format, args...).WithDetail("pointer", pointer)
}

// named is the session that a client's headers name. The first is meant for this gateway; clients of
// their own accord send one of the others.
func named(h http.Header) string {
	for _, name := range []string{"Reflectory-Session", "X-Claude-Code-Session-Id", "Session-Id", "Session_id", "X-Session-Id"} {
		if v := sessionName(h.Get(name)); v != "" {
			return v
		}
	}
	return ""
}

// sessionName is a name if it may be one.
func sessionName(text string) string {
	if len(text) > maxSession || strings.ContainsFunc(text, unicode.IsControl) {
		return ""
	}
	return text
}

// sessionIn is the session that a body names, in one of the members that clients use for it.
func sessionIn(top node) string {
	user := top.get("metadata", "user_id").str()
	if _, id, found := strings.Cut(user, "_session_"); found {
		user = id
	} else if id := []byte(user); jsoncheck.Check(id, "user_id", maxDepth) == nil {
		user = root(id).get("session_id").str()
	} else {
		user = ""
	}
	conversation := top.get("conversation")
	return sessionName(cmp.Or(top.get("metadata", "session_id").str(), user, conversation.str(), conversation.get("id").str(), top.get("prompt_cache_key").str()))
}

// edited is the body with its edits.
func (r *request) edited(e *gateway.Edits, usage bool) []byte {
	var list []edit
	if e.Model != "" && e.Model != r.Model {
		list = append(list, edit{r.model.at, r.model.end, quote(e.Model)})
	}
	if e.System != "" {
		list = append(list, r.system.add(e.System))
	}
	for i, text := range e.Context {
		if i >= 0 && i < len(r.slots) && text != "" {
			list = append(list, r.slots[i].add(text))
		}
	}
	if usage && r.usage.text != nil {
		list = append(list, r.usage)
	}
	if e.Findings != "" { // the last, since it is behind a context in the same place
		list = append(list, r.after.add(e.Findings))
	}
	return apply(r.body, list)
}

// apply makes edits, which don't overlap. Several in one place keep their order.
func apply(text []byte, list []edit) []byte {
	if len(list) == 0 {
		return text
	}
	slices.SortStableFunc(list, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	size := len(text)
	for _, e := range list {
		size += len(e.text)
	}
	out, at := make([]byte, 0, size), 0
	for _, e := range list {
		out = append(append(out, text[at:e.at]...), e.text...)
		at = e.end
	}
	return append(out, text[at:]...)
}

// content is what a message's content says, and where text is added to it.
type content struct {
	text string
	slot slot
}

// readContent reads a content: a string, or a list of parts. part is called for each; it returns the
// part's text. Texts of parts are separated by a line break, except an assistant's, whose reply is
// one text. behind is the slot where nothing can be added to the content.
func readContent(n node, partType, separator string, behind slot, part func(node) string) (content, error) {
	if n.is('"') {
		return content{n.str(), slot{at: n.end - 1, before: `\n\n`}}, nil
	}
	if !n.is('[') || n.empty() {
		return content{slot: behind}, nil
	}
	var texts []string
	count := 0
	for v := range n.elements() {
		if count++; count > maxItems {
			return content{}, invalid("", "a message has more than %d parts", maxItems)
		}
		if text := part(v); text != "" {
			texts = append(texts, text)
		}
	}
	return content{strings.Join(texts, separator), slot{at: lastEnd(n), before: `,{"type":"` + partType + `","text":"`, after: `"}`}}, nil
}

// lastEnd is where an array's last element ends. The array isn't empty.
func lastEnd(n node) int {
	at := n.end - 2
	for bytes.IndexByte([]byte(" \n\t\r"), n.text[at]) >= 0 {
		at--
	}
	return at + 1
}

// memberSlot adds a text to a member of an object, which has at least one: behind a text, in place of null, or as
// a new member. A member of another kind has no slot.
func memberSlot(object node, name string) (slot, bool) {
	switch v := object.get(name); {
	case v.is('"'):
		return slot{at: v.end - 1, before: `\n\n`}, true
	case v.ok():
		return slot{}, false
	case v.exists():
		return slot{at: v.at, before: `"`, after: `"`, over: v.end - v.at}, true
	}
	return slot{at: object.at + 1, before: `"` + name + `":"`, after: `",`}, true
}

// userSlot adds a message of the user behind another one.
func userSlot(end int) slot { return slot{at: end, before: `,{"role":"user","content":"`, after: `"}`} }

// join adds a message's results and calls to the last message, behind which the next text is then added.
func (r *request) join(m gateway.Message, behind slot) {
	last := len(r.Messages) - 1
	have := &r.Messages[last]
	have.Text += m.Text
	have.Calls, have.Results = append(have.Calls, m.Calls...), append(have.Results, m.Results...)
	have.Canonical = append(have.Canonical, m.Canonical...)
	r.slots[last] = behind
}
