package core_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

func TestTenant_IsTheFirstSegment(t *testing.T) {
	for namespace, want := range map[string]string{
		"team": "team", "team/a/b": "team", "users": "users", "users/ana": "users/ana", "users/ana/notes/x": "users/ana", "usersx/ana": "usersx",
	} {
		if got := core.Tenant(namespace); got != want {
			t.Errorf("the tenant of %s is %s, not %s", namespace, got, want)
		}
	}
}

func TestTenantOfPattern_SaysWhetherItIsOne(t *testing.T) {
	for pattern, want := range map[string]string{
		"**": "", "users/**": "", "team/**": "team", "team": "team", "team/a/**": "team", "users/ana/**": "users/ana", "users": "users",
	} {
		if got, one := core.TenantOfPattern(pattern); got != want || one != (want != "") {
			t.Errorf("the tenant of %s is %q, %v", pattern, got, one)
		}
	}
}

func TestCheckTenant_RefusesNamespaces(t *testing.T) {
	for _, tenant := range []string{"team", "users/ana"} {
		if err := core.CheckTenant(tenant); err != nil {
			t.Error(err)
		}
	}
	for _, tenant := range []string{"", "*", "users", "team/a", "users/ana/x", "a b"} {
		if err := core.CheckTenant(tenant); sdk.ReasonOf(err) != "tenant_invalid" || sdk.AsError(err).Hint == "" {
			t.Errorf("tenant %q: %v", tenant, err)
		}
	}
}
