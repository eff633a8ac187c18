package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// maxRequestKeyBytes bounds an idempotency key: a UUID has 36.
const maxRequestKeyBytes = 128

// requestKey is where the outcome of a request with an idempotency key is kept.
// A key is its agent's and its namespace's, as the request names them, so that
// nobody is told of what another did.
func requestKey(r *core.ReflectRequest) []byte {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.AgentID, r.Namespace, r.IdempotencyKey}, "\x00")))
	return []byte(requestPrefix + hex.EncodeToString(sum[:]))
}

// readOutcome returns what an earlier request with the same idempotency key came
// to; nil where there is none.
func readOutcome(r core.Reader, request *core.ReflectRequest) (*core.ReflectResult, error) {
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
		return nil, damaged(string(key), err)
	}
	return &result, nil
}

// writeOutcome keeps what a request came to. It holds ids only, so nothing of it
// has to go when a memory is purged.
func writeOutcome(t *tx, request *core.ReflectRequest, result *core.ReflectResult) error {
	if request.IdempotencyKey == "" {
		return nil
	}
	return t.Put(requestKey(request), core.MustJSON(result))
}
