// Command native answers questions on standard input, one on a line, outside of WebAssembly: for comparisons.
package main

import (
	"bufio"
	"os"

	"slipway/template/calls"
)

// The longest question.
const maxLine = 16 << 20

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		os.Stdout.Write(append(calls.Reply(in.Bytes()), '\n'))
	}
}
