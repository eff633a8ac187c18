package run_test

import (
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/run"
)

// TestKeyLayout checks FORMAT.md's table of keys.
func TestKeyLayout(t *testing.T) {
	started := time.Unix(0, 1)
	cases := []struct {
		got  []byte
		want string
	}{
		{run.RunKey("id"), "run/id"},
		{run.ContentKey("id"), "run-content/id"},
		{run.ResultKey("id"), "run-result/id"},
		{run.TimeKey(started, "id"), "run-time/\xff\xff\xff\xff\xff\xff\xff\xfe/id"},
		{run.VisitKey("id", 258), "visit/id/\x00\x00\x01\x02"},
		{run.AttemptKey("id", 1, 258), "attempt/id/\x00\x00\x00\x01\x00\x00\x01\x02"},
		{run.HoursKey(1), "run-hour/\xff\xff\xff\xff\xff\xff\xff\xfe"},
		{run.StepKey("id", "k"), "run-step/id/8254c329a92850f6d539dd376f4816ee2764517da5e0235514af433164480d7a"},
		{run.StepMemoryKey("m", "id", "k"), "run-step-memory/m/id/8254c329a92850f6d539dd376f4816ee2764517da5e0235514af433164480d7a"},
		{run.ReplyKey("sha256:d"), "llm-reply/sha256:d"},
		{run.ReplyTimeKey(258, "sha256:d"), "llm-reply-time/\x00\x00\x00\x00\x00\x00\x01\x02/sha256:d"},
		{run.ReplyMemoryKey("m", "sha256:d"), "llm-reply-memory/m/sha256:d"},
	}
	for _, c := range cases {
		if string(c.got) != c.want {
			t.Errorf("key %q, want %q", c.got, c.want)
		}
	}
	if got := run.TimeID(run.TimeKey(started, "id")); got != "id" {
		t.Errorf("timeID = %q", got)
	}
}

func FuzzDescribeKey(f *testing.F) {
	for _, key := range []string{"run/x", "visit/x/\x00\x00\x00\x01", "attempt/x/\x00", "attempt/", "\xff"} {
		f.Add([]byte(key))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		run.DescribeKey(key)
		if id := run.TimeID(key); len(id) > len(key) {
			t.Errorf("store.TimeID(%q) = %q", key, id)
		}
	})
}
