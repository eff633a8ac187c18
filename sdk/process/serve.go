package process

import (
	"context"

	"github.com/reflectory/reflectory/sdk"
)

func serve(ctx context.Context, p sdk.Plugin, o Options) error {
	return sdk.Errorf(sdk.Unavailable, "", "serving isn't built yet")
}
