package job_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/job"
)

// TestKeys_Layout checks FORMAT.md's table of keys.
func TestKeys_Layout(t *testing.T) {
	at := time.Unix(0, 258)
	n258, not258 := "\x00\x00\x00\x00\x00\x00\x01\x02", "\xff\xff\xff\xff\xff\xff\xfe\xfd"
	request := job.Job{UserID: "u", Type: job.Dream, Namespace: "a/b", IdempotencyKey: "k"}
	cases := []struct {
		got         []byte
		want, shown string
	}{
		{job.JobKey("id"), "job/id", "job/id"},
		{job.ContentKey("id"), "job-content/id", "job-content/id"},
		{job.ResultKey("id"), "job-result/id", "job-result/id"},
		{job.StepKey("id", "s"), "job-step/id/s", "job-step/id/s"},
		{job.NumberKey(), "job-sequence/number", "job-sequence/number"},
		{job.ServedAllKey(), "job-sequence/served", "job-sequence/served"},
		{job.ServedKey("system/a/b"), "job-served/system/a/b", "job-served/system/a/b"},
		{job.ForcedKey("u"), "job-forced/u", "job-forced/u"},
		{job.HolderKey("h"), "job-holder/h", "job-holder/h"},
		{job.QueueKey("u"), "job-queue/u", "job-queue/u"},
		{job.CountKey(), "job-count/all", "job-count/all"},
		{job.FinishedKey("u"), "job-finished/u", "job-finished/u"},
		{[]byte(job.ReadyJobs(job.Dream)), "job-ready/dream/", "job-ready/dream/"},
		{[]byte(job.Item(258, "id")), "0000000000000102id", "0000000000000102id"},
		{job.ActiveKey("u", job.Dream, "a/b"), "job-active/u/dream/a/b", "job-active/u/dream/a/b"},
		{job.RequestKey(&request), "job-request/c0d694bb2314086805282934f5a6a698d2b948a107b45cfcf7ca80af362feefd", ""},
		{job.RunningKey("h", "id"), "job-running/h/id", "job-running/h/id"},
		{job.TimeKey(258, "id"), "job-time/" + not258 + "id", "job-time/258/id"},
		{job.UserKey("u", 258, "id"), "job-user/u/" + not258 + "id", "job-user/u/258/id"},
		{job.EndKey(at, "id"), "job-end/" + n258 + "id", "job-end/258/id"},
		{job.TookKey(job.Dream, at, "id"), "job-took/dream/" + not258 + "id", "job-took/dream/258/id"},
		{job.ShardNumberKey("2a"), "job-sequence/number/2a", "job-sequence/number/2a"},
		{job.DividedKey(), "job-shard/divided", "job-shard/divided"},
		{[]byte(job.ShardReady("2a", job.Dream)), "job-shard/2a/ready/dream/", "job-shard/2a/ready/dream/"},
		{job.MemoryKey("m", "id"), "job-memory/m/id", "job-memory/m/id"},
	}
	for _, c := range cases {
		if string(c.got) != c.want {
			t.Errorf("key %q, want %q", c.got, c.want)
		}
		if shown := job.DescribeKey(c.got); c.shown != "" && shown != c.shown {
			t.Errorf("key %q is described as %q, want %q", c.got, shown, c.shown)
		}
	}
	page, err := os.ReadFile("../store/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		prefix, _, _ := strings.Cut(c.want, "/")
		if strings.HasPrefix(prefix, "job") && !strings.Contains(string(page), "`"+prefix+"/") {
			t.Errorf("FORMAT.md has no key %s/", prefix)
		}
	}
}

func FuzzDescribeKey(f *testing.F) {
	for _, key := range []string{"job/x", "job-time/", "job-user/u/", "job-ready/dream/\x00", "job-wait/12345678id", "\xff"} {
		f.Add([]byte(key))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		if shown := job.DescribeKey(key); len(key) > 0 && shown == "" {
			t.Errorf("key %q is shown as nothing", key)
		}
	})
}
