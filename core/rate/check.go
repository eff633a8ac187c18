package rate

import (
	"context"

	"github.com/reflectory/reflectory/core"
)

// Checker checks the records of what is lent. They matter only for seconds, so an export
// leaves them out, and a repair drops those that can't be read.
type Checker struct{}

var _ core.Rebuilder = Checker{}

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	return eachDamaged(ctx, r, func(key []byte, err error) {
		report(core.Problem{Part: "rates", Key: string(key), Message: "it can't be decoded: " + err.Error(), Rebuildable: true})
	})
}

func eachDamaged(ctx context.Context, r core.Reader, fn func(key []byte, err error)) error {
	return core.ScanPrefix(r, []byte(prefix), func(key, value []byte) (bool, error) {
		if err := decode(value, &record{}); err != nil {
			fn(key, err)
		}
		return true, ctx.Err()
	})
}

// Derived implements [core.Rebuilder].
func (Checker) Derived() []string { return []string{prefix} }

// Rebuild implements [core.Rebuilder].
func (Checker) Rebuild(ctx context.Context, s core.Store) error {
	return s.Update(ctx, func(tx core.Tx) error {
		var damaged [][]byte
		if err := eachDamaged(ctx, tx, func(key []byte, _ error) { damaged = append(damaged, key) }); err != nil {
			return err
		}
		for _, key := range damaged {
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
}
