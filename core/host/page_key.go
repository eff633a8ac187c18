package host

import (
	"context"
	"io"

	"github.com/reflectory/reflectory/core"
)

// pageKeyKey is the key of the secret that seals page tokens. It belongs to this store,
// so no export contains it, or anything else below meta/.
const pageKeyKey = "meta/page-key"

// pageKeyBytes is the size of a key for HMAC-SHA-256.
const pageKeyBytes = 32

// PageKey is the key that seals page tokens. It is made when it is first needed, and
// never changes: a client may read a list over days, and from several hosts.
func (s *Storage) PageKey(ctx context.Context) (key []byte, err error) {
	s.keyMu.Lock()
	key = s.pageKey
	s.keyMu.Unlock()
	if key != nil {
		return key, nil
	}
	err = s.store.View(ctx, func(r core.Reader) (err error) {
		key, _, err = r.Get([]byte(pageKeyKey))
		return err
	})
	if err == nil && len(key) != pageKeyBytes {
		err = s.store.Update(ctx, func(tx core.Tx) (err error) {
			if key, _, err = tx.Get([]byte(pageKeyKey)); err != nil || len(key) == pageKeyBytes {
				return err
			}
			key = make([]byte, pageKeyBytes)
			if _, err := io.ReadFull(s.config.Random, key); err != nil {
				return err
			}
			return tx.Put([]byte(pageKeyKey), key)
		})
	}
	if err != nil {
		return nil, err
	}
	s.keyMu.Lock()
	defer s.keyMu.Unlock()
	s.pageKey = key
	return key, nil
}
