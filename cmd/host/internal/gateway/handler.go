package gateway

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// TokenHeader is where a client's token is if its other credentials are for the upstream.
const TokenHeader = "Reflectory-Token"

// Where the handler is mounted.
const (
	OpenAIPath    = "/openai/v1"
	AnthropicPath = "/anthropic/v1"
)

// Defaults of [Config].
const (
	// DefaultSilence is how long the official clients of both families wait for a reply.
	DefaultSilence = 10 * time.Minute
	// DefaultMaxReply is far above the longest replies: 128,000 tokens are about 1 MiB as text, and 30
	// MiB as events of single tokens.
	DefaultMaxReply = 64 << 20
	// keepAlive is how long a stream may be silent before it says that it is alive.
	keepAlive = 5 * time.Second
)

// Model is what serves the requests for one name.
type Model struct {
	// Name is what the upstream calls the model.
	Name     string
	Endpoint Endpoint
	// Serve decides what is asked and what is answered. The caller is in the context.
	Serve func(context.Context, *gateway.Request, gateway.Upstream) (*gateway.Outcome, error)
	// Answer answers instead of an endpoint, in every family's shape; nil for a model that has one.
	Answer func(context.Context, *gateway.Request) (*Answer, error)
}

// Models are the models of the gateway. The caller is in the context.
type Models interface {
	// Find is the model of a name. An unknown one is sdk.NotFound, with the names that there are.
	Find(ctx context.Context, name string) (*Model, error)
	// Names are the names of the caller's models.
	Names(ctx context.Context) []string
	// Answered is the model that gave the caller a response of an id.
	Answered(ctx context.Context, id string) (*Model, error)
}

// Config is what a handler is made of.
type Config struct {
	Models Models
	// Transport reaches upstreams.
	Transport http.RoundTripper
	// Failed is called with errors of the server itself, which clients don't see; nil ignores them.
	Failed func(context.Context, error)
	// Silence is how long an upstream may send nothing: default [DefaultSilence].
	Silence time.Duration
	// MaxReply bounds a reply with its events, and all that is held of the attempts of one request, in bytes:
	// default [DefaultMaxReply].
	MaxReply int
}

// Handler serves the paths of the gateway. What mounts it checks who may ask, puts the caller into the request's
// context, bounds the time in which a client sends its body and takes what is written, and ends the context when
// the client is gone.
type Handler struct {
	config Config
	client http.Client
}

// New returns a handler.
func New(c Config) *Handler {
	c.Silence, c.MaxReply = cmp.Or(c.Silence, DefaultSilence), cmp.Or(c.MaxReply, DefaultMaxReply)
	return &Handler{config: c, client: http.Client{
		Transport: c.Transport,
		// A redirect could send the conversation and the key to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func familyOf(path string) Family {
	if strings.HasPrefix(path, AnthropicPath) {
		return Anthropic
	}
	return OpenAI
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.route(w, r); err != nil {
		h.refuse(w, r, err)
	}
}

// refuse answers with an error before a reply has begun.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var refused *refusal
	if errors.As(err, &refused) {
		copyDown(w.Header(), refused.header)
		w.WriteHeader(refused.status)
		_, _ = w.Write(refused.body) // the client may be gone
		return
	}
	f := faultOf(err)
	if f.status == http.StatusInternalServerError {
		h.failed(r.Context(), err)
	}
	f.write(w, familyOf(r.URL.Path))
}

// failed reports an error of the server itself.
func (h *Handler) failed(ctx context.Context, err error) {
	if h.config.Failed != nil {
		h.config.Failed(ctx, err)
	}
}

// responsePath is the path of a response that was given, below /responses.
var responsePath = regexp.MustCompile(`^/openai/v1(/responses/([A-Za-z0-9_-]{1,128})(/cancel|/input_items)?)$`)

func (h *Handler) route(w http.ResponseWriter, r *http.Request) error {
	path := r.URL.Path
	if name, found := strings.CutPrefix(path, OpenAIPath+"/models"); found && r.Method == http.MethodGet {
		return h.models(w, r, strings.TrimPrefix(name, "/"))
	}
	if m := responsePath.FindStringSubmatch(path); m != nil {
		return h.response(w, r, m[1], m[2])
	}
	s := map[string]shape{
		OpenAIPath + "/chat/completions": chat{}, OpenAIPath + "/responses": responses{},
		AnthropicPath + "/messages": messages{}, AnthropicPath + "/messages/count_tokens": messages{},
	}[path]
	switch {
	case s == nil:
		return sdk.Errorf(sdk.NotFound, "path_unknown", "the gateway has no path %s", cut(path)).
			WithHint("there are POST %[1]s/chat/completions, POST %[1]s/responses, GET %[1]s/models, POST %[2]s/messages and POST %[2]s/messages/count_tokens", OpenAIPath, AnthropicPath)
	case r.Header.Get("Upgrade") != "":
		return sdk.Errorf(sdk.Invalid, "websocket_refused", "a reply over a WebSocket can't be checked, and isn't passed on").WithHint("send POST, and stream the reply as events")
	case r.Method != http.MethodPost:
		return sdk.Errorf(sdk.Invalid, "method_not_allowed", "%s is asked with POST", path)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch known := (*sdk.Error)(nil); {
	case errors.As(err, &large):
		return sdk.Errorf(sdk.Exhausted, "body_too_large", "the body has more than %d bytes", large.Limit)
	case errors.As(err, &known):
		return err
	case err != nil:
		return sdk.Errorf(sdk.Invalid, "body_unreadable", "the body can't be read: %w", err)
	}
	return h.ask(w, r, s, body)
}

// ask answers a request for a model.
func (h *Handler) ask(w http.ResponseWriter, r *http.Request, s shape, body []byte) error {
	req, err := parse(s, body, r.Header)
	if err != nil {
		return err
	}
	model, err := h.config.Models.Find(r.Context(), req.Model)
	if err != nil {
		return err
	}
	x := &exchange{handler: h, client: r, w: w, shape: s, request: req, model: model, attempts: map[int]*attempt{}}
	path, count := strings.CutPrefix(r.URL.Path, AnthropicPath)
	count = count && path != s.path()
	switch {
	case model.Answer != nil && count:
		return sdk.Errorf(sdk.NotFound, "path_unknown", "%s is no model that counts tokens", cut(req.Model))
	case model.Answer != nil:
		x.model = &Model{Serve: x.answer, Answer: model.Answer}
		return x.serve()
	case !slices.Contains(model.Endpoint.Families, s.family()):
		return wrongShape(req.Model, &model.Endpoint)
	case count:
		return x.pass(path)
	}
	return x.serve()
}

// wrongShape is the refusal of a model whose upstream speaks another shape, with the paths to use.
func wrongShape(name string, e *Endpoint) error {
	paths := OpenAIPath + "/chat/completions or " + OpenAIPath + "/responses"
	if slices.Contains(e.Families, Anthropic) {
		paths = AnthropicPath + "/messages"
	}
	return sdk.Errorf(sdk.NotFound, "model_other_shape", "the upstream of model %s doesn't speak this shape, and nothing is translated: use %s", cut(name), paths)
}

// models lists the models, or one of them.
func (h *Handler) models(w http.ResponseWriter, r *http.Request, name string) error {
	list := []any{}
	for _, n := range h.config.Models.Names(r.Context()) {
		entry := map[string]any{"id": n, "object": "model", "created": 0, "owned_by": "reflectory"}
		if n == name {
			return writeJSON(w, entry)
		}
		list = append(list, entry)
	}
	if name != "" {
		_, err := h.config.Models.Find(r.Context(), name)
		if err == nil { // it isn't listed, and served all the same
			return writeJSON(w, map[string]any{"id": name, "object": "model", "created": 0, "owned_by": "reflectory"})
		}
		return err
	}
	return writeJSON(w, map[string]any{"object": "list", "data": list})
}

func writeJSON(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(jsontext.MustEncode(v)) // the client may be gone
	return nil
}

// response passes a request for a response that the caller was given.
func (h *Handler) response(w http.ResponseWriter, r *http.Request, path, id string) error {
	cancel := strings.HasSuffix(path, "/cancel")
	switch {
	case cancel && r.Method == http.MethodPost, r.Method == http.MethodGet && !cancel, r.Method == http.MethodDelete && strings.HasSuffix(path, id):
	default:
		return sdk.Errorf(sdk.Invalid, "method_not_allowed", "%s isn't possible at %s", r.Method, cut(path))
	}
	model, err := h.config.Models.Answered(r.Context(), id)
	if err != nil {
		return err
	}
	x := &exchange{handler: h, client: r, w: w, shape: responses{}, request: &request{}, model: model, attempts: map[int]*attempt{}}
	return x.pass(path)
}
