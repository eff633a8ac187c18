package host

import (
	"context"
	"io"

	"github.com/reflectory/reflectory/core"
)

// pageKeyKey is where the key lies that seals page tokens. It is this store's own, and so
// no export has it, as nothing below meta/.
const pageKeyKey = "meta/page-key"

// pageKeyBytes is as much as SHA-256 takes in.
const pageKeyBytes = 32

// PageKey is the key that seals page tokens. It is made when it is first needed, and never
// changes: a list may be gone through over days, and over several hosts.
func (h *Host) PageKey(ctx context.Context) (key []byte, err error) {
	h.mu.Lock()
	key = h.pageKey
	h.mu.Unlock()
	if key != nil {
		return key, nil
	}
	err = h.Store.View(ctx, func(r core.Reader) (err error) {
		key, _, err = r.Get([]byte(pageKeyKey))
		return err
	})
	if err == nil && len(key) != pageKeyBytes {
		err = h.Store.Update(ctx, func(tx core.Tx) (err error) {
			if key, _, err = tx.Get([]byte(pageKeyKey)); err != nil || len(key) == pageKeyBytes {
				return err
			}
			key = make([]byte, pageKeyBytes)
			if _, err := io.ReadFull(h.config.Random, key); err != nil {
				return err
			}
			return tx.Put([]byte(pageKeyKey), key)
		})
	}
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pageKey = key
	return key, nil
}
