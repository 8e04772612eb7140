package main

// kind is a kind of operation: what is charged, counted and can be made to fail.
type kind int

const (
	opLookup kind = iota
	opGetattr
	opAccess
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
	"lookup", "getattr", "access", "setattr", "create", "open", "mkdir", "symlink", "link", "rename",
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
	operations            [kinds]int64
	bytesRead, bytesWrote int64
	// most is the highest number of operations in flight that a client reached.
	most int64
}

func (c *counters) snapshot() map[string]int64 {
	found := map[string]int64{"bytes_read": c.bytesRead, "bytes_written": c.bytesWrote, "most_in_flight": c.most}
	for number, name := range kindNames {
		found[name] = c.operations[number]
	}
	return found
}

func (c *counters) inFlight(now int64) { c.most = max(c.most, now) }
