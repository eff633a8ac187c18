package wasm

import "github.com/reflectory/reflectory/sdk"

const (
	fuelModule = "reflectory:fuel"
	fuelRefill = "refill"
	fuelGlobal = "reflectory:fuel"
)

func meter([]byte) ([]byte, error) {
	return nil, sdk.Errorf(sdk.Incompatible, "fuel_unsupported", "no instrumenter")
}
