package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core/host/config"
)

// TestServe_IsReadyOnlyWithItsToken: who waits for /readyz may read the operator's token next.
func TestServe_IsReadyOnlyWithItsToken(t *testing.T) {
	h := newPlainWorld(t).openHost()
	api, err := httpapi.New(httpapi.Config{Host: h, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	status := func() int {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
		r.Host = "localhost"
		api.Remote().ServeHTTP(w, r)
		return w.Code
	}
	work, err := newWorkers(h)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = work.stop() }()
	during := 0
	err = work.begin(t.Context(), api, func(ctx context.Context) error {
		err := withOperatorToken(ctx, h)
		during = status()
		return err
	})
	if err != nil || during != http.StatusServiceUnavailable {
		t.Fatalf("%v, and /readyz has %d before the token is there", err, during)
	}
	if _, err := h.Access.OperatorToken(); err != nil || status() != http.StatusOK {
		t.Errorf("%v, %d", err, status())
	}
}

// TestServerLimits_AreTheDefaults: a server without settings has the limits that its API has by
// default, and settings reach all of them.
func TestServerLimits_AreTheDefaults(t *testing.T) {
	got, want := serverLimits((&config.Config{}).Limits()), httpapi.DefaultLimits()
	got.StreamTime, got.DrainTime = want.StreamTime, want.DrainTime // these aren't settings
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
