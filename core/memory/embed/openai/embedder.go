package openai

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/cenkalti/backoff/v5"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// How texts are sent.
const (
	// batchTexts and batchBytes bound what one exchange sends: endpoints take a few
	// hundred texts, and some a limited number of tokens in all.
	batchTexts = 64
	batchBytes = 256_000
	// maxTries is how often an exchange is tried if the fault may be temporary.
	maxTries = 4
)

// Embedder asks an endpoint. It is safe for concurrent use.
type Embedder struct {
	url     string
	model   string
	dims    int
	key     func() (string, error)
	maxText int
	client  http.Client
}

var _ core.Embedder = (*Embedder)(nil)

// New checks the options. The key is read, and the endpoint called, when there is
// something to embed: operations that need no vectors work without them.
func New(o Options) (*Embedder, error) {
	if err := o.Check(); err != nil {
		return nil, sdk.Wrap("embedder", err)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxText == 0 {
		o.MaxText = DefaultMaxText
	}
	return &Embedder{
		url: base(o.URL) + "/embeddings", model: o.Model, dims: o.Dims, key: o.key, maxText: o.MaxText,
		client: http.Client{
			Transport: o.Transport, Timeout: o.Timeout,
			// A redirect could send the texts to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// base is the base of a URL that may have been copied from an example of a request.
func base(url string) string {
	const call = "/embeddings"
	url = strings.TrimRight(url, "/")
	if at := len(url) - len(call); at > 0 && strings.EqualFold(url[at:], call) {
		return strings.TrimRight(url[:at], "/")
	}
	return url
}

// Model implements [core.Embedder]: the model's name, with the dimensions if they were
// chosen.
func (e *Embedder) Model() string {
	if e.dims == 0 {
		return e.model
	}
	return fmt.Sprintf("%s@%d", e.model, e.dims)
}

// Embed implements [core.Embedder]. Temporary faults are tried again, up to 4 times in
// all. A text of only white space isn't sent and gets the zero vector.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	var blank []int
	dims := e.dims
	for start := 0; start < len(texts); {
		batch, at, end := e.batch(texts, start)
		for i := start; i < end; i++ {
			if strings.TrimSpace(texts[i]) == "" {
				blank = append(blank, i)
			}
		}
		start = end
		if len(batch) == 0 {
			continue
		}
		made, err := e.callModel(ctx, batch, dims)
		if err != nil {
			return nil, err
		}
		for i, v := range made {
			vectors[at[i]] = v
		}
		dims = len(made[0])
	}
	for _, i := range blank {
		vectors[i] = make([]float32, dims)
	}
	return vectors, nil
}

// batch takes the texts of one exchange, from start up to end, without blank ones. at are
// their indices.
func (e *Embedder) batch(texts []string, start int) (batch []string, at []int, end int) {
	size := 0
	for end = start; end < len(texts); end++ {
		text := beginning(texts[end], e.maxText)
		if strings.TrimSpace(text) == "" {
			continue
		}
		if size += len(text); len(batch) == batchTexts || len(batch) > 0 && size > batchBytes {
			break
		}
		batch, at = append(batch, text), append(at, end)
	}
	return batch, at, end
}

// beginning returns the start of a text, up to most bytes, in whole characters.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// callModel makes an exchange, and repeats it if that may help.
func (e *Embedder) callModel(ctx context.Context, texts []string, dims int) ([][]float32, error) {
	key, err := e.key()
	if err != nil {
		return nil, err
	}
	try := func() ([][]float32, error) { return e.exchange(ctx, key, texts, dims) }
	vectors, err := backoff.Retry(ctx, try, backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(2*e.client.Timeout))
	if err != nil {
		return nil, sdk.Wrap(fmt.Sprintf("embed %d texts", len(texts)), err)
	}
	return vectors, nil
}
