package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// requestKey is where the outcome of a request with an idempotency key is kept.
// A key is its agent's and its namespace's, as the request names them, so that
// nobody learns what another did.
func requestKey(r *core.ReflectRequest) []byte {
	return keyOf(requestPrefix, r.AgentID, r.Namespace, r.IdempotencyKey)
}

func keyOf(prefix string, parts ...string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return []byte(prefix + hex.EncodeToString(sum[:]))
}

// observeKey is where the memory of an observation with an idempotency key is
// named.
func observeKey(r *core.ObserveRequest) []byte {
	return keyOf(observePrefix, r.AgentID, r.Namespace, r.IdempotencyKey)
}

// ReadObserved returns the memory of an earlier request with the same idempotency
// key; nil where there is none. One that was purged since is refused as such.
func ReadObserved(r core.Reader, request *core.ObserveRequest) (*core.Memory, error) {
	if request.IdempotencyKey == "" {
		return nil, nil
	}
	id, found, err := r.Get(observeKey(request))
	if err != nil || !found {
		return nil, err
	}
	return Read(r, string(id))
}

// WriteObserved keeps which memory a request with an idempotency key came to.
func WriteObserved(t *Tx, request *core.ObserveRequest, memory *core.Memory) error {
	if request.IdempotencyKey == "" {
		return nil
	}
	return t.Write(memory.Namespace, observeKey(request), []byte(memory.ID))
}

// ReadOutcome returns what an earlier request with the same idempotency key came
// to; nil where there is none.
func ReadOutcome(r core.Reader, request *core.ReflectRequest) (*core.ReflectResult, error) {
	if request.IdempotencyKey == "" {
		return nil, nil
	}
	key := requestKey(request)
	value, found, err := r.Get(key)
	if err != nil || !found {
		return nil, err
	}
	var result core.ReflectResult
	if err := json.Unmarshal(value, &result); err != nil {
		return nil, Damaged(string(key), err)
	}
	return &result, nil
}

// WriteOutcome keeps what a request came to. It holds ids only, so nothing of it
// has to go when a memory is purged.
func WriteOutcome(t *Tx, request *core.ReflectRequest, result *core.ReflectResult) error {
	if request.IdempotencyKey == "" {
		return nil
	}
	return t.Write(result.Namespace, requestKey(request), core.MustJSON(result))
}
