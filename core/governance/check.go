package governance

import (
	"context"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

var _ core.Checker = (*Governor)(nil)

// Check implements [core.Checker]: every stored record can be read.
func (g *Governor) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	return core.ScanPrefix(r, []byte(prefix), func(stored, value []byte) (bool, error) {
		level := strings.TrimPrefix(string(stored), prefix)
		problem := func(err error) {
			if err != nil {
				report(core.Problem{Part: "governance", Key: string(stored), Message: sdk.AsError(err).Message})
			}
		}
		problem(checkLevel(level))
		_, err := decode(level, value)
		problem(err)
		return true, ctx.Err()
	})
}
