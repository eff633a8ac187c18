package store

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Empty reports whether a store has only the keys that every store has, and the keys
// that hosts which share the store write for themselves and for the rates of their
// requests.
func Empty(r core.Reader) (bool, error) {
	empty := true
	err := r.Scan(nil, nil, func(key, _ []byte) (bool, error) {
		empty = hasPrefix(key, []string{metaPrefix, hostPrefix, leasePrefix, ratePrefix})
		return empty, nil
	})
	return empty, err
}

// Check has the parts check a snapshot of a store, and returns how many problems they
// reported.
func Check(ctx context.Context, s core.Store, parts []core.Checker, report func(core.Problem)) (count int, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		for _, part := range parts {
			err := part.Check(ctx, r, func(p core.Problem) {
				count++
				report(p)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return count, sdk.Wrap("check the store", err)
}

// Rebuild calls the parts that can rebuild their derived keys.
func Rebuild(ctx context.Context, s core.Store, parts []core.Checker) error {
	for _, part := range parts {
		if r, ok := part.(core.Rebuilder); ok {
			if err := r.Rebuild(ctx, s); err != nil {
				return sdk.Wrap("rebuild derived data", err)
			}
		}
	}
	return nil
}

// Derived are the prefixes that the parts derive.
func Derived(parts []core.Checker) []string {
	var list []string
	for _, part := range parts {
		if r, ok := part.(core.Rebuilder); ok {
			list = append(list, r.Derived()...)
		}
	}
	return list
}
