// Outside test suites that come inside module zips. Tests find them with
// "go mod download -json" here, so nothing of them is copied into the repository.
module github.com/reflectory/reflectory/testdata/suites

go 1.26.0

require (
	// wasm: plug-ins built with Extism's PDKs.
	github.com/extism/go-sdk v1.7.1
	// testdata/JSON-Schema-Test-Suite: the official suite with its remotes.
	github.com/kaptinlin/jsonschema v0.7.3
)
