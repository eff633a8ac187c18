package jsonconfig_test

import (
	"fmt"

	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// All problems of a config are one error.
func ExampleRead() {
	var model, scoring string
	o := jsonconfig.Read([]byte(`{"model": 7, "scoring": "strct", "modle": "x"}`))
	o.Take("model", "text", &model)
	o.OneOf("scoring", &scoring, "graded", "strict")
	o.Done()
	fmt.Println(o.Err("my-eval config", "its README lists the keys"))
	// Output:
	// my-eval config: model is a number, not text; scoring "strct" is not one of graded, strict (did you mean "strict"?); unknown key modle: did you mean model?
}
