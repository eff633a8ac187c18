package search_test

import (
	"context"

	"github.com/reflectory/reflectory/core/memory/search"
)

// one is a store of one namespace, "ns".
type one []*search.Doc

func (o one) Namespaces(context.Context) ([]string, error) { return []string{"ns"}, nil }

func (o one) Load(_ context.Context, _ string, fn func(*search.Doc) error) error {
	for _, d := range o {
		if err := fn(d); err != nil {
			return err
		}
	}
	return nil
}
