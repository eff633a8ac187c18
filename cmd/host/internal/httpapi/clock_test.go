package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
)

// TestClock_AnHourBack, as after a wrong setting is corrected: callers stay logged in, what
// was written is there and can be added to, lists have all of it, a repeated request isn't
// done again, jobs begin, and the journal's chain is whole.
func TestClock_AnHourBack(t *testing.T) {
	d := newDoor(t, newIssuer(t))
	d.tokens["late"] = ""
	d.issue("late", time.Hour, operationtest.Here+"/**", "memory:read", "memory:write")
	send := func(who, method, target, body string, headers ...string) *answer {
		t.Helper()
		r := d.request("", method, target, body, headers...)
		r.Header.Set("Authorization", "Bearer "+d.tokens[who])
		return serve(d.api.Remote(), r)
	}
	observe := func(id string) *answer {
		return send("late", "POST", "/v1/memories", fmt.Sprintf(`{"id": %q, "namespace": %q, "content": "The harbour closes at noon."}`, id, operationtest.Here), "Idempotency-Key", id)
	}
	login, err := d.Host.Access.OpenSession(d.Ctx, d.tokens["late"])
	d.Must(err)
	before := observe("clock-before")
	if before.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", before.StatusCode, before.body)
	}
	enqueue := func(user string) {
		_, err := d.Host.Jobs.Enqueue(d.Ctx, &job.Request{UserID: user, Namespace: operationtest.Here, Type: job.Reflection, Payload: []byte(`{}`)})
		d.Must(err)
	}
	enqueue("amy")
	clock := d.Config.Clock.(*coretest.Clock)
	clock.Advance(-time.Hour)

	if again := observe("clock-before"); again.body != before.body || again.Header.Get(replayedHeader) != "true" {
		t.Errorf("repeated: %d %s", again.StatusCode, again.body)
	}
	if after := observe("clock-after"); after.StatusCode != http.StatusOK {
		t.Errorf("%d %s", after.StatusCode, after.body)
	}
	if _, err := d.Host.Access.AuthenticateSession(d.Ctx, string(login.Secret)); err != nil {
		t.Errorf("the browser's session: %v", err)
	}
	listed := send("late", "GET", "/v1/memories?namespace="+operationtest.Here, "")
	recalled := send("late", "POST", "/v1/recall", fmt.Sprintf(`{"namespace": %q, "query": "harbour"}`, operationtest.Here))
	for what, a := range map[string]*answer{"the list": listed, "the recall": recalled} {
		if !strings.Contains(a.body, `"clock-before@`) || !strings.Contains(a.body, `"clock-after@`) {
			t.Errorf("%s: %d %s", what, a.StatusCode, a.body)
		}
	}
	enqueue("bob")
	for _, user := range []string{"amy", "bob"} {
		if j, err := d.Host.Jobs.Claim(d.Ctx, "holder", job.Types()); err != nil || j == nil || j.UserID != user {
			t.Errorf("the job of %s: %+v, %v", user, j, err)
		}
	}
	if out, err := d.Do(core.Operator(operationtest.Agent), "audit_verify", &operation.AuditVerify{}); err != nil {
		t.Errorf("the journal: %+v, %v", out, err)
	}
}
