package wasm

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

// refusal is how the kernel stops its guest.
func refusal(f func()) (err error) {
	defer func() {
		if stop, ok := recover().(stopped); ok {
			err = stop.reason
		}
	}()
	f()
	return nil
}

func TestAKernelBoundsItsBlocks(t *testing.T) {
	k := newKernel(64 << 20)
	first := k.alloc(1)
	for range maxBlocks - 1 {
		k.alloc(1)
	}
	err := refusal(func() { k.alloc(1) })
	if sdk.ReasonOf(err) != "guest_memory_exhausted" || !strings.Contains(err.Error(), "blocks") {
		t.Errorf("a block too many: %v", err)
	}
	k.free(first)
	if again := k.alloc(1); again != first {
		t.Errorf("a freed block isn't used again: %d, want %d", again, first)
	}
	if err := refusal(func() { newKernel(1 << 20).alloc(1<<20 + 1) }); sdk.ReasonOf(err) != "guest_memory_exhausted" {
		t.Errorf("a block beyond the limit: %v", err)
	}
}
