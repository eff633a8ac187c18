//go:build quality

package gateway_test

import "testing"

// TestLives: agents that name nothing learn like others, also while somebody keeps writing wrong memories, and no
// tenant's memory goes up for another. make gateway-lives runs it.
func TestLives(t *testing.T) {
	t.Run("tasks", func(t *testing.T) { checkLives(t, 10, false) })
	t.Run("poison", func(t *testing.T) { checkLives(t, 10, true) })
	t.Run("tenants", func(t *testing.T) { checkTenants(t, 10_000) })
}
