//go:build !linux

package main

// hostiles are none here: what they attack is Linux's.
var hostiles map[string]func()
