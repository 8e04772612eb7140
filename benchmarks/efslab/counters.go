package main

import "sync/atomic"

// kind is a kind of operation: what is charged, counted and can be made to fail.
type kind int

const (
	opLookup kind = iota
	opGetattr
	opSetattr
	opCreate
	opOpen
	opMkdir
	opSymlink
	opLink
	opRename
	opUnlink
	opRmdir
	opReaddir
	opRead
	opWrite
	opCommit
	opClose
	kinds
)

var kindNames = [kinds]string{
	"lookup", "getattr", "setattr", "create", "open", "mkdir", "symlink", "link", "rename",
	"unlink", "rmdir", "readdir", "read", "write", "commit", "close",
}

var kindByName = func() map[string]kind {
	found := map[string]kind{}
	for number, name := range kindNames {
		found[name] = kind(number)
	}
	return found
}()

// counters count the operations that a server of the file system would see, and bytes.
type counters struct {
	operations            [kinds]atomic.Int64
	bytesRead, bytesWrote atomic.Int64
	// most is the highest number of operations in flight that a client reached.
	most atomic.Int64
}

func (c *counters) snapshot() map[string]int64 {
	found := map[string]int64{"bytes_read": c.bytesRead.Load(), "bytes_written": c.bytesWrote.Load(), "most_in_flight": c.most.Load()}
	for number, name := range kindNames {
		found[name] = c.operations[number].Load()
	}
	return found
}

func (c *counters) reset() {
	for number := range c.operations {
		c.operations[number].Store(0)
	}
	c.bytesRead.Store(0)
	c.bytesWrote.Store(0)
	c.most.Store(0)
}

func (c *counters) inFlight(now int64) {
	for most := c.most.Load(); now > most; most = c.most.Load() {
		if c.most.CompareAndSwap(most, now) {
			return
		}
	}
}
