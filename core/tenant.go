package core

import (
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// DefaultNamespace is the namespace of what names none.
const DefaultNamespace = "default"

// usersSegment is the first segment of the namespaces of users, each of whom is a tenant.
const usersSegment = "users"

// Tenant is the part of a namespace that determines the namespace's database: its first
// segment, and under users the first two.
func Tenant(namespace string) string {
	first, rest, more := strings.Cut(namespace, "/")
	if first != usersSegment || !more {
		return first
	}
	second, _, _ := strings.Cut(rest, "/")
	return first + "/" + second
}

// Tenant is the tenant of everything that the caller reaches. A caller that reaches several,
// such as the operator, counts by itself: "@" and its subject, which no namespace has.
func (c Caller) Tenant() string {
	for i, pattern := range c.Namespaces {
		tenant, one := TenantOfPattern(pattern)
		first, _ := TenantOfPattern(c.Namespaces[0])
		if !one || tenant != first {
			break
		}
		if i == len(c.Namespaces)-1 {
			return tenant
		}
	}
	return "@" + c.Subject
}

// Account is what limits and idempotency keys of a caller count for: its subject within its tenant. So
// a subject's name says nothing in another tenant, where somebody else may have it.
func (c Caller) Account() string {
	if tenant := c.Tenant(); tenant != "@"+c.Subject {
		return tenant + "\x00" + c.Subject
	}
	return c.Subject
}

// TenantOfPattern is the tenant of all namespaces that a pattern matches (see
// [NamespaceMatches]); the result one is false if they have several tenants.
func TenantOfPattern(pattern string) (tenant string, one bool) {
	top, tree := strings.CutSuffix(pattern, "/**")
	if pattern == "**" || tree && top == usersSegment {
		return "", false
	}
	return Tenant(top), true
}

// CheckTenant reports what is wrong with a tenant's name: sdk.Invalid, reason
// "tenant_invalid". The namespace users can't be named as a tenant: its name would be
// understood as all users.
func CheckTenant(tenant string) error {
	hint := "a tenant is the first segment of a namespace, such as team, or a user's, such as users/ana"
	if err := CheckNamespace(tenant); err != nil {
		return sdk.Errorf(sdk.Invalid, "tenant_invalid", "tenant %w", err).WithHint("%s", hint)
	}
	if Tenant(tenant) != tenant || tenant == usersSegment {
		return sdk.Errorf(sdk.Invalid, "tenant_invalid", "%s isn't a tenant", shown(tenant)).WithHint("%s", hint)
	}
	return nil
}
