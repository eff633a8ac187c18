package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/reflectory/reflectory/core/memory/vector"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/httpfault"
)

const (
	// maxNumberBytes is the longest form of a number in JSON, with its comma and white
	// space.
	maxNumberBytes = 48
	// maxReplyBytes bounds a reply.
	maxReplyBytes = batchTexts * vector.MaxDims * maxNumberBytes
	// maxRefusalBytes limits how much of a refusal is read.
	maxRefusalBytes = 64 << 10
	// maxWait is the longest Retry-After that is waited for.
	maxWait = 60 * time.Second
)

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
	// Format is "float"; not all endpoints know others.
	Format string `json:"encoding_format"`
}

type reply struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// exchange sends texts once. An error that a repetition won't fix is marked as permanent.
func (e *Embedder) exchange(ctx context.Context, key string, texts []string, dims int) ([][]float32, error) {
	body, err := json.Marshal(request{Model: e.model, Input: texts, Dimensions: e.dims, Format: "float"})
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, e.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, e.refused(resp)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReplyBytes+1))
	if err != nil {
		return nil, e.unreachable(ctx, err)
	}
	vectors, err := decode(data, len(texts), dims)
	if err != nil {
		return nil, backoff.Permanent(sdk.Wrap(e.url, err))
	}
	return vectors, nil
}

// unreachable is the error of an exchange without a reply. The HTTP client's error is
// left out except for its kind: it may contain proxies' passwords.
func (e *Embedder) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return backoff.Permanent(ctx.Err())
	}
	if httpfault.Code(0, err) == sdk.Denied {
		return backoff.Permanent(sdk.Errorf(sdk.Denied, "embedder_untrusted", "embedder %s: its certificate can't be trusted", e.url).
			WithHint("check that the URL's host is right, and that this machine trusts the issuer of its certificate"))
	}
	why := "the connection failed"
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		why = "it didn't answer within " + e.client.Timeout.String()
	}
	return sdk.Errorf(sdk.Unavailable, "embedder_unavailable", "embedder %s: %s", e.url, why).
		WithHint("check that it is running and can be reached; until then memories are found by their words")
}

// refused is the error of a reply whose status isn't a success.
func (e *Embedder) refused(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusalBytes)) // what can't be read isn't needed
	if httpfault.Quota(resp.StatusCode, body) {
		return backoff.Permanent(sdk.Errorf(sdk.Exhausted, "embedder_quota", "embedder %s: the account has no quota or credit left (status %d)", e.url, resp.StatusCode).
			WithHint("add credit or raise the account's limit; until then memories are found by their words").WithDetail("status", resp.StatusCode))
	}
	code := httpfault.Code(resp.StatusCode, nil)
	hint := "check that the URL ends as the endpoint's documentation says and that it has the model, and look at its log"
	switch code {
	case sdk.Unavailable:
		hint = "try again later; until then memories are found by their words"
	case sdk.Denied:
		hint = "check that the key's variable holds a key that may use the model"
	}
	err := sdk.Errorf(code, "embedder_refused", "embedder %s: it answered with status %d for model %q", e.url, resp.StatusCode, e.model).
		WithHint("%s", hint).WithDetail("status", resp.StatusCode)
	if code != sdk.Unavailable {
		return backoff.Permanent(err)
	}
	if wait := httpfault.Wait(resp.Header, time.Now()); wait > 0 && wait <= maxWait {
		return errors.Join(err, &backoff.RetryAfterError{Duration: wait})
	}
	return err
}

// decode reads one vector for each text, with the given dimensions if they are known, and
// scales them to unit length.
func decode(data []byte, texts, dims int) ([][]float32, error) {
	invalid := func(format string, args ...any) error {
		return sdk.Errorf(sdk.Invalid, "embedding_invalid", "the reply "+format, args...).
			WithHint("check that the URL is an OpenAI-compatible endpoint, and that the model makes embeddings")
	}
	if len(data) > maxReplyBytes {
		return nil, invalid("is longer than %d bytes", maxReplyBytes)
	}
	var r reply
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, invalid("isn't the protocol's JSON")
	}
	if len(r.Data) != texts {
		return nil, invalid("has %d vectors for %d texts", len(r.Data), texts)
	}
	vectors := make([][]float32, texts)
	for _, d := range r.Data {
		if d.Index < 0 || d.Index >= texts || vectors[d.Index] != nil {
			return nil, invalid("has two vectors for text %d, or there is no such text", d.Index)
		}
		if dims == 0 {
			dims = len(d.Embedding)
		}
		if n := len(d.Embedding); n != dims || n == 0 || n > vector.MaxDims {
			return nil, invalid("has a vector of %d dimensions (expected %d, limit %d)", n, dims, vector.MaxDims)
		}
		if !scale(d.Embedding) {
			return nil, invalid("has a vector of length 0")
		}
		vectors[d.Index] = d.Embedding
	}
	return vectors, nil
}

// scale brings a vector to unit length, and reports whether that is possible.
func scale(v []float32) bool {
	sum := 0.0
	for _, c := range v {
		sum += float64(c) * float64(c)
	}
	if sum == 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
		return false
	}
	factor := 1 / math.Sqrt(sum)
	for i, c := range v {
		v[i] = float32(float64(c) * factor)
	}
	return true
}
