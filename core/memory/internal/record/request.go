package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// requestKey is where the outcome of a request with an idempotency key is stored. A key
// belongs to the agent and the namespace that the request names, so that nobody learns
// what another did.
func requestKey(r *core.ReflectRequest) []byte {
	return keyOf(requestPrefix, r.AgentID, r.Namespace, r.IdempotencyKey)
}

func keyOf(prefix string, parts ...string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return []byte(prefix + hex.EncodeToString(sum[:]))
}

// observeKey is where the memory of an observation with an idempotency key is recorded.
func observeKey(r *core.ObserveRequest) []byte {
	return keyOf(observePrefix, r.AgentID, r.Namespace, r.IdempotencyKey)
}

// ReadObserved returns the memory of an earlier request with the same idempotency key;
// nil if there was none. If the memory was purged since, the error reports this.
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

// WriteObserved records which memory a request with an idempotency key created.
func WriteObserved(t *Tx, request *core.ObserveRequest, memory *core.Memory) error {
	if request.IdempotencyKey == "" {
		return nil
	}
	return t.Write(memory.Namespace, observeKey(request), []byte(memory.ID))
}

// ReadOutcome returns the outcome of an earlier request with the same idempotency key;
// nil if there was none.
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

// WriteOutcome stores the outcome of a request. It holds ids only, so purging a memory
// needn't remove it.
func WriteOutcome(t *Tx, request *core.ReflectRequest, result *core.ReflectResult) error {
	if request.IdempotencyKey == "" {
		return nil
	}
	return t.Write(result.Namespace, requestKey(request), jsontext.MustEncode(result))
}
