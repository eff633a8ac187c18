package config_test

import (
	"fmt"

	"github.com/reflectory/reflectory/core/host/config"
)

// The value of each setting knows where it comes from.
func ExampleLoad() {
	settings, err := config.Load(config.Sources{
		Folder: "/", Flags: map[string]string{"data-dir": "/tmp/data"},
		Getenv: func(name string) string { return map[string]string{"REFLECTORY_NAMESPACE": "team/mail"}[name] },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(settings.DataDir.Value, settings.DataDir.Origin)
	fmt.Println(settings.Namespace.Value, settings.Namespace.Origin)
	// Output:
	// /tmp/data flag --data-dir
	// team/mail environment REFLECTORY_NAMESPACE
}
