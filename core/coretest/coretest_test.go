package coretest_test

import (
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
)

func TestClockStandsUntilMoved(t *testing.T) {
	var clock coretest.Clock
	if got := clock.Now(); !got.Equal(coretest.Epoch()) {
		t.Errorf("a new clock shows %v", got)
	}
	clock.Advance(time.Minute)
	clock.Advance(time.Second)
	if got, want := clock.Now(), coretest.Epoch().Add(61*time.Second); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestIDsCountAndSort(t *testing.T) {
	var ids coretest.IDs
	first, second := ids.NewID(), ids.NewID()
	if first != "00000000-0000-7000-8000-000000000001" || second <= first {
		t.Errorf("got %s, then %s", first, second)
	}
}
