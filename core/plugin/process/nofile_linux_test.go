package process_test

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestStart_UnderFewDescriptors: a host whose own hard limit of open files is low starts a plugin, and
// the plugin judges.
func TestStart_UnderFewDescriptors(t *testing.T) {
	for _, limit := range []int{64, 100, 128, 199, 200, 255, 256, 1024} {
		ctx, cancel := context.WithCancel(t.Context())
		var errs strings.Builder
		host := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" plugin host`, limit), program)
		host.Stderr = &errs
		out, err := host.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		said, _ := bufio.NewReader(out).ReadString('\n')
		cancel()
		_ = host.Wait() // it was ended
		if said != "running\n" {
			t.Errorf("with %d open files: %q: %s", limit, said, errs.String())
		}
	}
}
