//go:build linux && cgo && lua54

package luaeval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/sdk"
)

// underLimits names the attack that a program runs under the limits of a plugin.
const underLimits = "LUAEVAL_ATTACK"

// The limits of a plugin's process by default: data, and the stack that each thread reserves.
const (
	dataLimit  = 256 << 20
	stackLimit = 8 << 20
)

// poisons are scripts that raise their own memory error, or hold memory in another way that
// could last. N is a number that differs from run to run, so that each is another script.
var poisons = []struct{ name, code string }{
	{"many large texts", `local t={} for i=1,1e9 do t[i]=string.rep("a",1e6) end return {valid=true} --N`},
	{"texts just above the small ones", `local t={} for i=1,1e9 do t[i]=string.rep("a",1100)..i end return true --N`},
	{"texts of 100 KB", `local t={} for i=1,1e9 do t[i]=string.rep("a",1e5)..i end return true --N`},
	{"texts that grow", `local t={} for i=1,1e9 do t[i]=string.rep("a",i*10) end return true --N`},
	{"small tables", `local t={} for i=1,1e9 do t[i]={i} end return true --N`},
	{"one doubling text", `local s="x" while true do s=s..s end --N`},
	{"coroutines", `local t={} for i=1,1e9 do t[i]=coroutine.create(function() coroutine.yield() end) coroutine.resume(t[i]) end --N`},
	{"caught and held", `local t={} pcall(function() for i=1,1e9 do t[i]=string.rep("a",5e4)..i end end) while true do end --N`},
	{"a large output", `local t={} for i=1,7e5 do t[i]="abcdefg" end return {valid=true, output=t} --N`},
	{"a large output after large texts", `local t={} for i=1,50 do t[i]=string.rep("a",1e6) end return {valid=true, output=string.rep("b",7e6)} --N`},
	{"a quota of 1 GiB", `MEMORY local t={} for i=1,1e9 do t[i]=string.rep("a",1e6) end return true --N`},
	{"a quota of 1 GiB in small blocks", `MEMORY local t={} for i=1,1e9 do t[i]={i} end return true --N`},
	{"scripts of 1 MB", "return true --" + strings.Repeat("x", 900_000) + "N"},
	{"scripts of many constants", "local t = {" + strings.Repeat(`"a",1.5,`, 60_000) + "} return true --N"},
}

// A script that uses up its memory, or fails in another way, takes nothing from the scripts of
// others, while it runs or later.
func TestScripts_LeaveTheMemoryOfThePlugin(t *testing.T) {
	coretest.Long(t)
	if name := os.Getenv(underLimits); name != "" {
		attackUnderLimits(t, name)
		return
	}
	if coretest.Plain(t) { // the detector's own memory doesn't fit within the limit
		return
	}
	for _, p := range poisons {
		t.Run(p.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestScripts_LeaveTheMemoryOfThePlugin$", "-test.v")
			cmd.Env = append(os.Environ(), underLimits+"="+p.name)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
				t.Errorf("%v\n%.3000s", err, out)
			}
		})
	}
}

func attackUnderLimits(t *testing.T, name string) {
	for resource, limit := range map[int]uint64{syscall.RLIMIT_DATA: dataLimit, syscall.RLIMIT_STACK: stackLimit} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range poisons {
		if p.name != name {
			continue
		}
		parallel := luaeval.Plugin().Manifest.Parallel
		for round := range 3 {
			var attackers sync.WaitGroup
			for n := range parallel - 1 {
				attackers.Go(func() { poison(t, p.code, 100*round+n) })
			}
			during := innocent(fmt.Sprintf("during %d", round), 1)
			attackers.Wait()
			if during != nil {
				t.Errorf("round %d, next to the attack: %v", round, during)
			}
			if err := innocent(fmt.Sprintf("after %d", round), 32); err != nil {
				t.Errorf("round %d, after the attack: %v (data %s)", round, err, dataOf())
			}
			if t.Failed() {
				return
			}
		}
		t.Log("data ", dataOf())
		return
	}
	t.Fatalf("no attack %q", name)
}

// poison runs one attack; how it ends doesn't matter, but it must end.
func poison(t *testing.T, code string, n int) {
	ctx := t.Context()
	config := map[string]any{"code": strings.Replace(code, "--N", fmt.Sprintf("--%d", n), 1), "instructions": 2_000_000}
	if rest, large := strings.CutPrefix(config["code"].(string), "MEMORY"); large {
		config["code"], config["memory_bytes"] = rest, 1<<30
	}
	data, _ := json.Marshal(config)
	e, err := luaeval.Plugin().Evaluator(ctx, data)
	if err == nil {
		kept.add(e)
		_, _ = e.Evaluate(ctx, &sdk.EvaluateRequest{Output: json.RawMessage(`"x"`)})
	}
}

// kept are the scripts that the plugin still knows: as many as an instance keeps.
var kept keeper

type keeper struct {
	mu      sync.Mutex
	scripts []sdk.Evaluator
}

func (k *keeper) add(e sdk.Evaluator) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.scripts = append(k.scripts, e)
	k.scripts = k.scripts[max(0, len(k.scripts)-64):]
}

// innocent prepares a script that holds some MB, and runs it.
func innocent(name string, mb int) error {
	data, _ := json.Marshal(map[string]any{"code": fmt.Sprintf("local t = {} for i = 1, %d do t[i] = string.rep('a', 1e6) end return true -- %s", mb, name)})
	e, err := luaeval.Plugin().Evaluator(context.Background(), data)
	if err != nil {
		return err
	}
	resp, err := e.Evaluate(context.Background(), &sdk.EvaluateRequest{Output: json.RawMessage(`"x"`)})
	if err == nil && !resp.Verdict.Valid {
		err = fmt.Errorf("the verdict is %+v", resp.Verdict)
	}
	return err
}

// dataOf is what counts against the limit on data.
func dataOf() string {
	runtime.GC()
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmData:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
