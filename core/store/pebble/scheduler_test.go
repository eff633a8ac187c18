package pebble

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// waitingDB is a database with one compaction that waits for its turn.
type waitingDB struct {
	waits bool
	ran   int
}

func (d *waitingDB) GetAllowedWithoutPermission() int { return 1 }

func (d *waitingDB) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	return d.waits, pebble.WaitingCompaction{}
}

func (d *waitingDB) Schedule(pebble.CompactionGrantHandle) bool {
	d.waits = false
	d.ran++
	return true
}

func TestACompactionWaitsUntilTheStoreIsOpen(t *testing.T) {
	s, db := newScheduler(), &waitingDB{waits: true}
	s.Register(1, db)
	if granted, _ := s.TrySchedule(); granted || db.ran != 0 {
		t.Errorf("while opening: granted %t, %d ran", granted, db.ran)
	}
	s.open()
	if db.ran != 1 {
		t.Errorf("%d compactions run once the store is open", db.ran)
	}
	if granted, _ := s.TrySchedule(); granted {
		t.Error("a second one runs beside the first")
	}
	s.Done()
	if granted, _ := s.TrySchedule(); !granted {
		t.Error("nothing runs after the first")
	}
	s.Unregister()
}
