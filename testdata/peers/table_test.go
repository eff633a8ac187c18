package peers

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// report prints the table and fails the test where a target is missed.
func report(t *testing.T, c *contest) {
	t.Helper()
	floor, own := c.floor.at(0.5), c.own.at(0.5)-c.floor.at(0.5)
	fmt.Printf("\nThe loop of 3 iterations, in process, nothing persisted: µs per loop.\n")
	fmt.Printf("%d interleaved rounds, each sample the mean of %d loops.\n\n", rounds, perTurn)
	fmt.Printf("%-15s %-10s %9s %9s %11s %12s %8s\n", "", "version", "median", "p10", "added cost", "ours/theirs", "target")
	fmt.Printf("%-15s %-10s %9.2f %9.2f %11s\n", c.floor.name, "", floor, c.floor.at(0.1), "floor")
	fmt.Printf("%-15s %-10s %9.2f %9.2f %11.2f\n", c.own.name, "this tree", c.own.at(0.5), c.own.at(0.1), own)
	for _, p := range c.peers {
		added := p.at(0.5) - floor
		fmt.Printf("%-15s %-10s %9.2f %9.2f %11.2f %12.2f %8s  %s\n", p.name, version(t, p.module),
			p.at(0.5), p.at(0.1), added, own/added, fmt.Sprintf("≤ %.2f", target), verdict(own/added))
		if own > target*added {
			t.Errorf("the loop adds %.2f µs to its steps, %s %.2f µs: the target is at most %.2f of that", own, p.name, added, target)
		}
	}
	fmt.Printf("\n%-15s %-10s %9.2f %9.2f   µs per call: %d B in, %d B out, another process.\n",
		c.socket.name, "", c.socket.at(0.5), c.socket.at(0.1), askBytes, answerBytes)
	fmt.Printf("%-26s %9.2f   µs for the 6 calls of a loop: the floor of a loop on plugins.\n\n", "", 6*c.socket.at(0.5))
}

func verdict(ratio float64) string {
	if ratio <= target {
		return "met"
	}
	return "MISSED"
}

// version is the version of a required module, as go.mod pins it: a test binary isn't
// told.
func version(t *testing.T, module string) string {
	t.Helper()
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == module {
			return fields[1]
		}
	}
	t.Fatalf("go.mod doesn't require %s", module)
	return ""
}
