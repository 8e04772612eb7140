package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ownPiece is the size from which a piece takes a whole MiB of the arena instead of the heap.
const ownPiece = 64 << 10

// arena hands out pieces of a MiB of a file on tmpfs that stays between runs. Memory that a machine
// has not touched yet comes slowly (a virtual machine gets it from its host page by page), and a
// measurement must not depend on which run comes first.
type arena struct {
	free [][]byte
}

var pieces arena

func (a *arena) open(path string, size int64) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Fallocate(int(file.Fd()), 0, 0, size); err != nil {
		return fmt.Errorf("%s: %d MiB: %w", path, size/mib, err)
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("%s: mmap: %w", path, err)
	}
	for ; len(memory) >= mib; memory = memory[mib:] {
		a.free = append(a.free, memory[:mib:mib])
	}
	return nil
}

// piece has the length asked for and at least that room; its bytes are whatever they were.
func (a *arena) piece(size int) []byte {
	if size >= ownPiece {
		if last := len(a.free) - 1; last >= 0 {
			taken := a.free[last]
			a.free = a.free[:last]
			return taken[:size]
		}
	}
	return make([]byte, size)
}

// give takes back a piece that nobody holds any more.
func (a *arena) give(piece []byte) {
	if cap(piece) != mib {
		return
	}
	a.free = append(a.free, piece[:0:mib])
}
