// Outside test suites that come inside module zips. Tests find them with
// "go mod download -json" here, so nothing of them is copied into the repository.
module github.com/reflectory/reflectory/testdata/suites

go 1.26.0

// testdata/JSON-Schema-Test-Suite: the official suite with its remotes.
require github.com/kaptinlin/jsonschema v0.7.3

// wasm: plug-ins from several languages; extism-runtime.wasm: their kernel.
require github.com/extism/go-sdk v1.7.1
