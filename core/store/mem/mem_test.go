package mem_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/storetest"
	"github.com/reflectory/reflectory/sdk"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) core.Store {
		s := mem.Open()
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func TestCloseIsIdempotentAndFinal(t *testing.T) {
	s := mem.Open()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err := s.View(t.Context(), func(core.Reader) error { return nil })
	if sdk.ReasonOf(err) != "store_closed" {
		t.Errorf("View after Close: %v", err)
	}
}
