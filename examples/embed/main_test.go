package main

import (
	"fmt"
	"os"
)

func Example() {
	dir, err := os.MkdirTemp("", "embed")
	if err == nil {
		err = os.Chdir(dir)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	main()
	main() // it still has what it learned
	// Output:
	// passed "62" and the memory went from open to active
	// passed "62" and the memory went from active to active
}
