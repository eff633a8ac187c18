package main

func Example() {
	main()
	// Output: passed {"guess":6}
}
