package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/logfile"
)

// TestPluginLogs_AreFollowed here, over a server's socket and over its port: the lines that there
// are, then each that comes.
func TestPluginLogs_AreFollowed(t *testing.T) {
	coretest.Long(t)
	w := newPlainWorld(t)
	files := logfile.New(logfile.Options{Dir: filepath.Join(w.dir, "data", "logs", "plugins")})
	defer files.Close()
	log := func(message string) {
		t.Helper()
		if err := files.Write(plugin.LogLine{Time: time.Unix(1, 0), Level: "info", Plugin: "test/one", Message: message}); err != nil {
			t.Fatal(err)
		}
	}
	log("begin")
	follow := func(w *world) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, out := io.Pipe()
		var errs strings.Builder
		code := make(chan int, 1)
		go func() {
			code <- runProgram(ctx, []string{"plugin", "logs", "test/one", "-f", "--lines", "1"}, strings.NewReader(""), out, &errs, func(k string) string { return w.env[k] })
			_ = out.Close()
		}()
		lines := bufio.NewScanner(r)
		for _, next := range []string{"one more", "and another", ""} {
			if !lines.Scan() {
				t.Fatalf("it ends before %q: exit %d: %s", next, <-code, errs.String())
			}
			if next != "" {
				log(next)
			}
		}
		if !strings.HasSuffix(lines.Text(), "and another") {
			t.Errorf("the last line is %q", lines.Text())
		}
		if cancel(); lines.Scan() || <-code != exitPassed {
			t.Errorf("it says %q besides: %s", lines.Text(), errs.String())
		}
	}
	follow(w)
	s := w.serve()
	follow(w)
	operator, err := os.ReadFile(s.Token)
	if err != nil {
		t.Fatal(err)
	}
	follow(&world{t: t, dir: w.dir, env: map[string]string{
		"REFLECTORY_SERVER": s.URL, "REFLECTORY_TOKEN": string(operator), "REFLECTORY_DATA_DIR": filepath.Join(w.dir, "none"),
	}})
}
