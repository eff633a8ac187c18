package term

import "io"

// NewTerminal makes a printer that treats any stream as a terminal of 80 columns.
func NewTerminal(w io.Writer) *Printer { return &Printer{w: w, terminal: true} }
