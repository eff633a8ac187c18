package process_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/process"
	"github.com/reflectory/reflectory/sdk/wire"
)

func probe() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{Name: "probe", Version: "1.0.0"},
		Evaluator: func(context.Context, json.RawMessage) (sdk.Evaluator, error) {
			return sdk.EvaluatorFunc(nil), nil
		},
	}
}

// surroundings are the environment of a program that a host did or did not start.
func surroundings(hosted bool, stdin string, args ...string) (o process.Options, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	return process.Options{
		Args: append([]string{}, args...), Stdin: strings.NewReader(stdin), Stdout: stdout, Stderr: stderr,
		Getenv: func(name string) string {
			if hosted && name == wire.CookieKey {
				return wire.CookieValue
			}
			return ""
		},
	}, stdout, stderr
}

func TestRunByHandSaysWhatItIs(t *testing.T) {
	o, stdout, stderr := surroundings(false, "")
	if err := process.Serve(t.Context(), probe(), o); !errors.Is(err, process.ErrNotHosted) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"probe 1.0.0", "evaluator", "--describe"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q doesn't say %q", stderr, want)
		}
	}
	if stdout.Len() > 0 {
		t.Errorf("stdout %q", stdout)
	}
}

func TestDescribePrintsTheManifest(t *testing.T) {
	o, stdout, _ := surroundings(false, "", "--describe")
	if err := process.Serve(t.Context(), probe(), o); err != nil {
		t.Fatal(err)
	}
	var got sdk.Manifest
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	p := probe()
	if diff := cmp.Diff(p.Describe(), got); diff != "" {
		t.Error(diff)
	}
}

func TestBadStartsAreRefused(t *testing.T) {
	cert := `{"tls":{"certificate":"none","key":"none","host_certificate":"none"}}` + "\n"
	tests := map[string]string{
		"no start message": "", "cut off": `{"log_level"`, "not JSON": "hello\n",
		"endless": strings.Repeat("x", 100<<10), "bad certificate": cert,
	}
	for name, stdin := range tests {
		t.Run(name, func(t *testing.T) {
			o, _, _ := surroundings(true, stdin)
			err := process.Serve(t.Context(), probe(), o)
			if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != "start_invalid" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPluginWithoutNameIsRefusedBeforeAnythingElse(t *testing.T) {
	o, _, _ := surroundings(true, "")
	err := process.Serve(t.Context(), sdk.Plugin{}, o)
	if sdk.ReasonOf(err) != "manifest_invalid" {
		t.Errorf("got %v", err)
	}
}
