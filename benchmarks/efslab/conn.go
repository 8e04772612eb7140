package main

import (
	"fmt"
	"syscall"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	// headBytes is a WRITE without its bytes; those of it then begin a piece.
	headBytes = int(unsafe.Sizeof(fuse.WriteIn{}))
	outHeader = int(unsafe.Sizeof(fuse.OutHeader{}))
	// replyBytes is room for every reply but those with many bytes.
	replyBytes = 512
)

// conn speaks FUSE's protocol with the kernel about one mount.
type conn struct {
	fd     int
	client *client
	head   [headBytes / 8]uint64
	spare  []byte // where the bytes of the next WRITE go
	whole  []byte // a request that is longer than its head
	out    [replyBytes / 8]uint64
}

// mount mounts the client's view at a directory. Needs root.
func mount(directory string, c *client) (*conn, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions,max_read=%d", fd, mib)
	if err := unix.Mount("efslab", directory, "fuse.efslab", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	return &conn{fd: fd, client: c, spare: pieces.piece(mib)}, nil
}

// serve reads one request and begins to answer it; whether there was one, and whether the mount is still there.
func (c *conn) serve() (found, open bool) {
	parts := [2]unix.Iovec{{Base: (*byte)(unsafe.Pointer(&c.head))}, {Base: &c.spare[0]}}
	parts[0].SetLen(headBytes)
	parts[1].SetLen(mib)
	// Raw: the descriptor never blocks, so the scheduler need not be told.
	read, _, errno := unix.RawSyscall(unix.SYS_READV, uintptr(c.fd), uintptr(unsafe.Pointer(&parts)), 2)
	switch errno {
	case 0:
		c.answer(int(read))
		return true, true
	case syscall.EAGAIN:
		return false, true
	case syscall.EINTR, syscall.ENOENT: // ENOENT: taken back before it was read
		return true, true
	}
	unix.Close(c.fd)
	return false, false
}

// answer calls what the request asks for; a WRITE's bytes are the spare piece's.
func (c *conn) answer(length int) {
	head := unsafe.Slice((*byte)(unsafe.Pointer(&c.head)), headBytes)
	header := (*fuse.InHeader)(unsafe.Pointer(&c.head))
	r := reply{c, header.Unique}
	if header.Opcode == opcodeWrite {
		in := (*fuse.WriteIn)(unsafe.Pointer(&c.head))
		if c.client.write(r, in, c.spare[:in.Size]) {
			c.spare = pieces.piece(mib)
		}
		return
	}
	body := head[:min(length, headBytes)]
	if length > headBytes {
		c.whole = append(append(c.whole[:0], head...), c.spare[:length-headBytes]...)
		body = c.whole
		header = (*fuse.InHeader)(unsafe.Pointer(&body[0]))
	}
	if handler := handlers[header.Opcode]; handler != nil {
		handler(c.client, r, request{header, body})
	} else {
		r.status(fuse.ENOSYS)
	}
}

// reply is how a request is answered, once.
type reply struct {
	conn   *conn
	unique uint64
}

// status answers without anything else.
func (r reply) status(status fuse.Status) {
	r.send(-int32(status), 0)
}

// send sends the header and what of the reply's buffer is filled already.
func (r reply) send(status int32, length int) {
	out := &r.conn.out
	*(*fuse.OutHeader)(unsafe.Pointer(out)) = fuse.OutHeader{Length: uint32(outHeader + length), Status: status, Unique: r.unique}
	// An error means that nobody waits for it any more.
	unix.RawSyscall(unix.SYS_WRITE, uintptr(r.conn.fd), uintptr(unsafe.Pointer(out)), uintptr(outHeader+length))
}

// with answers with a value, or with the status where it is not OK.
func with[T any](r reply, status fuse.Status, value *T) {
	if status != fuse.OK {
		r.status(status)
		return
	}
	*(*T)(unsafe.Add(unsafe.Pointer(&r.conn.out), outHeader)) = *value
	r.send(0, int(unsafe.Sizeof(*value)))
}

// bytes answers with parts one after the other.
func (r reply) bytes(parts ...[]byte) {
	header := fuse.OutHeader{Length: uint32(outHeader), Unique: r.unique}
	vector := make([]unix.Iovec, 1, len(parts)+1)
	vector[0].Base = (*byte)(unsafe.Pointer(&header))
	vector[0].SetLen(outHeader)
	for _, part := range parts {
		if len(part) > 0 {
			header.Length += uint32(len(part))
			vector = append(vector, unix.Iovec{Base: &part[0]})
			vector[len(vector)-1].SetLen(len(part))
		}
	}
	unix.RawSyscall(unix.SYS_WRITEV, uintptr(r.conn.fd), uintptr(unsafe.Pointer(&vector[0])), uintptr(len(vector)))
}
