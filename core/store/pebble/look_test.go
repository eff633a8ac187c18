package pebble

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/sdk"
)

func TestLookReportsOnAStoreWithoutOpeningIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if p, err := Look(dir); err != nil || p.Exists || p.Holder != nil {
		t.Errorf("without a folder: %+v %v", p, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
	s, err := Open(t.Context(), Options{Dir: dir, Program: "holder", Clock: fixedClock{}})
	if err != nil {
		t.Fatal(err)
	}
	want := Holder{PID: os.Getpid(), Program: "holder", Since: fixedClock{}.Now(), Durability: Full}
	if p, err := Look(dir); err != nil || !p.Exists || p.Bytes == 0 || p.Holder == nil || *p.Holder != want {
		t.Errorf("while it is open: %+v %v, want %+v", p, err, want)
	}
	if _, err := Open(t.Context(), Options{Dir: dir}); sdk.ReasonOf(err) != "store_locked" {
		t.Errorf("looking gave the lock up: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if p, err := Look(dir); err != nil || !p.Exists || p.Holder != nil {
		t.Errorf("once it is closed: %+v %v", p, err)
	}
	openTest(t, Options{Dir: dir}, vfs.Default)
}

func TestAHolderThatIsGoneHoldsNothing(t *testing.T) {
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for text, holds := range map[string]bool{
		fmt.Sprintf(`{"pid":%d,"program":"killed"}`, gone.Process.Pid): false,
		fmt.Sprintf(`{"pid":%d,"program":"running"}`, os.Getpid()):     true,
		`{"pid":-1,"program":"all"}`:                                   false,
		`{"pid":`:                                                      false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, holderFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Look(dir)
		if err != nil || p.Exists || (p.Holder != nil) != holds {
			t.Errorf("%s: %+v %v", text, p, err)
		}
	}
}

func TestAFileIsNoStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Look(file); sdk.ReasonOf(err) != "store_io" || sdk.AsError(err).Hint == "" {
		t.Errorf("got %v", err)
	}
}
