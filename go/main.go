//go:build wasip1

// The module that renders templates and evaluates CUE for Slipway, as a WebAssembly reactor: nothing runs until it is called.
package main

import (
	"runtime/debug"
	"unsafe"

	"slipway/template/calls"
)

// The collector works harder near the end of the memory that the build grants, so that less templates run into it.
const memoryLimit = 384 << 20

// Both live until the next call, so that addresses given to the host stay good while it reads and writes.
var question, answer []byte

func init() { debug.SetMemoryLimit(memoryLimit) }

// room makes room for a question and returns its address.
//
//go:wasmexport room
func room(length uint32) uint32 {
	question = make([]byte, length)
	answer = nil
	return addressOf(question)
}

// reply answers the question that the host has put into the room: the address in the upper half, the length in the lower.
//
//go:wasmexport reply
func reply() uint64 {
	answer = calls.Reply(question)
	question = nil
	return uint64(addressOf(answer))<<32 | uint64(len(answer))
}

func addressOf(bytes []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(bytes)))) }

// main is what the linker asks for; a reactor's is never called.
func main() {}
