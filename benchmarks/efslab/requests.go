package main

import (
	"strings"
	"syscall"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// FUSE's operations, include/uapi/linux/fuse.h.
const (
	opcodeLookup      = 1
	opcodeForget      = 2
	opcodeGetattr     = 3
	opcodeSetattr     = 4
	opcodeReadlink    = 5
	opcodeSymlink     = 6
	opcodeMknod       = 8
	opcodeMkdir       = 9
	opcodeUnlink      = 10
	opcodeRmdir       = 11
	opcodeRename      = 12
	opcodeLink        = 13
	opcodeOpen        = 14
	opcodeRead        = 15
	opcodeWrite       = 16
	opcodeStatfs      = 17
	opcodeRelease     = 18
	opcodeFsync       = 20
	opcodeFlush       = 25
	opcodeInit        = 26
	opcodeOpendir     = 27
	opcodeReaddir     = 28
	opcodeReleasedir  = 29
	opcodeFsyncdir    = 30
	opcodeCreate      = 35
	opcodeInterrupt   = 36
	opcodeDestroy     = 38
	opcodeBatchForget = 42
	opcodeFallocate   = 43
	opcodeReaddirplus = 44
	opcodeRename2     = 45
	opcodeTmpfile     = 51
)

// request is one as the kernel sent it; it is gone when its handler returns.
type request struct {
	header *fuse.InHeader
	body   []byte
}

// as is the request as a structure; the copy stays.
func as[T any](r request) *T {
	found := *(*T)(unsafe.Pointer(&r.body[0]))
	return &found
}

// names are the strings after a structure of so many bytes.
func (r request) names(after uintptr) []string {
	return strings.Split(strings.TrimSuffix(string(r.body[after:r.header.Length]), "\x00"), "\x00")
}

func (r request) name(after uintptr) string { return r.names(after)[0] }

const headerBytes = unsafe.Sizeof(fuse.InHeader{})

var handlers = map[uint32]func(*client, reply, request){
	opcodeInit: func(_ *client, r reply, in request) { initialise(r, as[fuse.InitIn](in)) },
	opcodeLookup: func(c *client, r reply, in request) {
		c.lookup(r, *in.header, in.name(headerBytes))
	},
	opcodeForget: func(c *client, _ reply, in request) {
		c.forget(in.header.NodeId, *(*uint64)(unsafe.Pointer(&in.body[headerBytes])))
	},
	opcodeBatchForget: func(c *client, _ reply, in request) {
		count := *(*uint32)(unsafe.Pointer(&in.body[headerBytes]))
		for _, one := range unsafe.Slice((*[2]uint64)(unsafe.Pointer(&in.body[headerBytes+8])), count) {
			c.forget(one[0], one[1])
		}
	},
	opcodeGetattr:  func(c *client, r reply, in request) { c.getattr(r, in.header.NodeId) },
	opcodeSetattr:  func(c *client, r reply, in request) { c.setattr(r, as[fuse.SetAttrIn](in)) },
	opcodeReadlink: func(c *client, r reply, in request) { c.readlink(r, in.header.NodeId) },
	opcodeSymlink: func(c *client, r reply, in request) {
		names := in.names(headerBytes)
		c.symlink(r, *in.header, names[0], names[1])
	},
	opcodeMknod: func(c *client, r reply, in request) {
		made := as[fuse.MknodIn](in)
		c.mknod(r, made, in.name(unsafe.Sizeof(*made)))
	},
	opcodeMkdir: func(c *client, r reply, in request) {
		made := as[fuse.MkdirIn](in)
		c.mkdir(r, made, in.name(unsafe.Sizeof(*made)))
	},
	opcodeCreate: func(c *client, r reply, in request) {
		made := as[fuse.CreateIn](in)
		c.create(r, made, in.name(unsafe.Sizeof(*made)))
	},
	opcodeUnlink: func(c *client, r reply, in request) { c.remove(r, opUnlink, in.header.NodeId, in.name(headerBytes)) },
	opcodeRmdir:  func(c *client, r reply, in request) { c.remove(r, opRmdir, in.header.NodeId, in.name(headerBytes)) },
	opcodeRename: func(c *client, r reply, in request) {
		to, names := *(*uint64)(unsafe.Pointer(&in.body[headerBytes])), in.names(headerBytes+8)
		c.rename(r, *in.header, names[0], to, names[1], 0)
	},
	opcodeRename2: func(c *client, r reply, in request) {
		moved, names := as[fuse.RenameIn](in), in.names(unsafe.Sizeof(fuse.RenameIn{}))
		c.rename(r, *in.header, names[0], moved.Newdir, names[1], moved.Flags)
	},
	opcodeLink: func(c *client, r reply, in request) {
		made := as[fuse.LinkIn](in)
		c.link(r, made, in.name(unsafe.Sizeof(*made)))
	},
	opcodeOpen: func(c *client, r reply, in request) { c.openFile(r, as[fuse.OpenIn](in)) },
	opcodeRead: func(c *client, r reply, in request) { c.readFile(r, as[fuse.ReadIn](in)) },
	opcodeStatfs: func(_ *client, r reply, _ request) {
		const blocks = 1 << 40 / 4096
		found := fuse.StatfsOut{Blocks: blocks, Bfree: blocks, Bavail: blocks, Bsize: 4096, Frsize: 4096, NameLen: 255, Files: blocks, Ffree: blocks}
		with(r, fuse.OK, &found)
	},
	opcodeRelease: func(c *client, r reply, in request) {
		c.release(as[fuse.ReleaseIn](in))
		r.status(fuse.OK)
	},
	opcodeReleasedir: func(c *client, r reply, in request) {
		delete(c.handles, as[fuse.ReleaseIn](in).Fh)
		r.status(fuse.OK)
	},
	opcodeFsync: func(c *client, r reply, in request) { c.commit(in.header.NodeId, r.status) },
	// NFS's operations on directories are synchronous.
	opcodeFsyncdir: func(_ *client, r reply, _ request) { r.status(fuse.OK) },
	opcodeFlush:    func(c *client, r reply, in request) { c.flush(r, as[fuse.FlushIn](in)) },
	opcodeOpendir:  func(c *client, r reply, in request) { c.openDirectory(r, in.header.NodeId) },
	opcodeReaddir:  func(c *client, r reply, in request) { c.readEntries(r, as[fuse.ReadIn](in), false) },
	opcodeReaddirplus: func(c *client, r reply, in request) {
		c.readEntries(r, as[fuse.ReadIn](in), true)
	},
	// Neither is in NFSv4.1.
	opcodeFallocate: func(_ *client, r reply, _ request) { r.status(fuse.Status(syscall.EOPNOTSUPP)) },
	opcodeTmpfile:   func(_ *client, r reply, _ request) { r.status(fuse.Status(syscall.EOPNOTSUPP)) },
	opcodeInterrupt: func(*client, reply, request) {},
	opcodeDestroy:   func(_ *client, r reply, _ request) { r.status(fuse.OK) },
}

// initialise agrees with the kernel on what both can do, as an NFS client would behave.
func initialise(r reply, in *fuse.InitIn) {
	const wanted = fuse.CAP_ASYNC_READ | fuse.CAP_BIG_WRITES | fuse.CAP_READDIRPLUS |
		fuse.CAP_PARALLEL_DIROPS | fuse.CAP_MAX_PAGES | fuse.CAP_WRITEBACK_CACHE | fuse.CAP_AUTO_INVAL_DATA
	const most = 512
	out := fuse.InitOut{
		Major: 7, Minor: min(in.Minor, 39), MaxReadAhead: min(in.MaxReadAhead, mib), Flags: in.Flags & wanted,
		MaxBackground: most, CongestionThreshold: most * 3 / 4, MaxWrite: mib, MaxPages: mib / 4096,
	}
	with(r, fuse.OK, &out)
}
