package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/process"
)

// A plugin's main calls Main. Serve is Main for a program that does more. It returns
// when the host is gone, or at once if no host started the program.
func ExampleServe() {
	plugin := sdk.Plugin{
		Manifest: sdk.Manifest{Name: "echo", Version: "1.0.0"},
		Generator: func(context.Context, json.RawMessage) (sdk.Generator, error) {
			return sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				return &sdk.GenerateResponse{Output: req.State}, nil
			}), nil
		},
	}
	err := process.Serve(context.Background(), plugin, process.Options{})
	fmt.Println(errors.Is(err, process.ErrNotHosted))
	// Output: true
}
