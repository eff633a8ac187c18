package run_test

import (
	"encoding/json"
	"testing"

	"github.com/reflectory/reflectory/core"
)

const (
	toldKey = "snapshot-session/s/hmac-sha256:aa"
	hint    = `{"block_id":"hint","source":"session/s/hint","payload_digest":"hmac-sha256:aa","payload":"a secret"}`
	built   = `{"snapshot_id":"x","session_id":"s","blocks_used":[` + hint + `,{"block_id":"b","payload_digest":"sha256:bb","payload":"p"}],"prompt":"a secret\n\np"}`
	purged  = `{"snapshot_id":"x","session_id":"s","blocks_used":[{"block_id":"hint","source":"session/s/hint","payload_digest":"hmac-sha256:aa","payload":"[purged]"},` +
		`{"block_id":"b","payload_digest":"sha256:bb","payload":"p"}],"prompt":"[purged]\n\np"}`
)

// TestSessions_TextsAreOnlyInTheSnapshot: a visit with the prompt of a turn doesn't hold the texts
// of its session, so that a purge that takes them out of the snapshot takes them out of the run.
func TestSessions_TextsAreOnlyInTheSnapshot(t *testing.T) {
	b := newBench(t)
	put := func(value string) {
		b.must(b.store.Update(b.ctx, func(tx core.Tx) error { return tx.Put([]byte(toldKey), []byte(value)) }))
	}
	recorder := b.runs.Recorder(b.run)
	b.must(recorder.RecordVisit(b.ctx, &core.Visit{Number: 1, Node: "n", Next: "n", Result: json.RawMessage(built)}))
	if b.holds("secret") {
		t.Error("the visit holds the text")
	}
	put(`{"salt":"1/1/1/x","payload":"a secret"}`)
	b.wantResults([]string{built})
	put(`{"purged":"m"}`)
	b.wantResults([]string{purged})
	b.must(recorder.RecordEnd(b.ctx, &core.Run{Status: core.StatusPassed, Result: json.RawMessage(built)}, nil))
	if b.holds("secret") || b.holds(core.Digest([]byte(built))) {
		t.Error("the end has the text, or a digest from which it can be guessed")
	}
	if all := b.problems(); len(all) > 0 {
		t.Error(all)
	}
}
