package main

import (
	"syscall"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
)

func (c *client) entry(node *inode, out *fuse.EntryOut, name string) {
	c.view(node.id).name = name
	node.describe(&out.Attr)
	out.NodeId, out.Generation = node.id, 1
	out.SetEntryTimeout(c.lab.costs.remembered)
	out.SetAttrTimeout(c.lab.costs.remembered)
}

// describe fills in the attributes.
func (n *inode) describe(out *fuse.Attr) {
	*out = n.attr
	if n.children == nil {
		out.Size = uint64(n.bytes.size)
		out.Blocks = uint64(n.bytes.allocated()+511) / 512
	}
	if n.target != "" {
		out.Size = uint64(len(n.target))
	}
}

func (c *client) lookup(r reply, h fuse.InHeader, name string) {
	c.allowed(h.NodeId, r.status, func() {
		c.charge(opLookup, name, func(status fuse.Status) {
			var out fuse.EntryOut
			if status == fuse.OK {
				if node := c.lab.store.lookup(h.NodeId, name); node != nil {
					c.entry(node, &out, name)
				} else {
					c.missed.add(missedKey{h.NodeId, name, h.Pid})
					status = fuse.ENOENT
				}
			}
			with(r, status, &out)
		})
	})
}

func (c *client) forget(id, times uint64) {
	delete(c.files, id)
	c.lab.store.forget(id, times)
}

// make charges a creation, makes the entry, and gives it to then where that went well; else it answers.
func (c *client) make(r reply, operation kind, h fuse.InHeader, name string, mode uint32, then func(*inode, *fuse.EntryOut)) {
	c.makeBy(c.lab.store.make, r, operation, h, name, mode, then)
}

func (c *client) makeBy(
	made func(uint64, string, uint32, fuse.Owner) (*inode, fuse.Status),
	r reply, operation kind, h fuse.InHeader, name string, mode uint32, then func(*inode, *fuse.EntryOut),
) {
	c.chargeCreation(operation, h.Pid, h.NodeId, name, func(status fuse.Status) {
		var node *inode
		if status == fuse.OK {
			node, status = made(h.NodeId, name, mode, h.Owner)
		}
		if status != fuse.OK {
			r.status(status)
			return
		}
		var out fuse.EntryOut
		c.changes(node.id)
		c.entry(node, &out, name)
		then(node, &out)
	})
}

func (c *client) mkdir(r reply, in *fuse.MkdirIn, name string) {
	c.make(r, opMkdir, in.InHeader, name, syscall.S_IFDIR|in.Mode&0o7777, func(_ *inode, out *fuse.EntryOut) {
		with(r, fuse.OK, out)
	})
}

func (c *client) mknod(r reply, in *fuse.MknodIn, name string) {
	c.make(r, opCreate, in.InHeader, name, in.Mode, func(node *inode, out *fuse.EntryOut) {
		node.attr.Rdev = in.Rdev
		with(r, fuse.OK, out)
	})
}

func (c *client) symlink(r reply, h fuse.InHeader, name, target string) {
	c.make(r, opSymlink, h, name, syscall.S_IFLNK|0o777, func(node *inode, out *fuse.EntryOut) {
		node.target = target
		node.describe(&out.Attr)
		with(r, fuse.OK, out)
	})
}

func (c *client) readlink(r reply, id uint64) {
	c.charge(opRead, c.view(id).name, func(status fuse.Status) {
		node := c.lab.store.inodes[id]
		switch {
		case status != fuse.OK:
			r.status(status)
		case node == nil:
			r.status(fuse.ENOENT)
		default:
			r.bytes([]byte(node.target))
		}
	})
}

// create of O_EXCL pays a SETATTR more, as Linux's NFSv4.1 client does: the verifier of an exclusive
// create takes the place of the times.
func (c *client) create(r reply, in *fuse.CreateIn, name string) {
	made := c.lab.store.makeOrFind
	if in.Flags&syscall.O_EXCL != 0 {
		made = c.lab.store.make
	}
	c.makeBy(made, r, opCreate, in.InHeader, name, syscall.S_IFREG|in.Mode&0o7777, func(node *inode, entry *fuse.EntryOut) {
		c.view(node.id).opened()
		out := fuse.CreateOut{EntryOut: *entry}
		out.Fh = c.open(node, in.Flags&syscall.O_ACCMODE != syscall.O_RDONLY)
		if in.Flags&syscall.O_EXCL == 0 {
			with(r, fuse.OK, &out)
			return
		}
		c.charge(opSetattr, name, func(status fuse.Status) { with(r, status, &out) })
	})
}

// link asks first what the client may do with the file, as Linux does (fs.protected_hardlinks).
func (c *client) link(r reply, in *fuse.LinkIn, name string) {
	c.allowed(in.Oldnodeid, r.status, func() {
		c.chargeCreation(opLink, in.Pid, in.NodeId, name, func(status fuse.Status) {
			var out fuse.EntryOut
			if status == fuse.OK {
				var node *inode
				if node, status = c.lab.store.link(in.Oldnodeid, in.NodeId, name); status == fuse.OK {
					c.entry(node, &out, name)
				}
			}
			with(r, status, &out)
		})
	})
}

// remove is unlink and rmdir.
func (c *client) remove(r reply, operation kind, parent uint64, name string) {
	c.changes(parent)
	c.charge(operation, name, func(status fuse.Status) {
		if status == fuse.OK {
			status = c.lab.store.remove(parent, name, operation == opRmdir)
		}
		r.status(status)
	})
}

func (c *client) rename(r reply, h fuse.InHeader, old string, to uint64, name string, flags uint32) {
	const noReplace = 1
	if flags&^noReplace != 0 {
		r.status(fuse.EINVAL)
		return
	}
	c.changes(h.NodeId)
	c.chargeCreation(opRename, h.Pid, to, name, func(status fuse.Status) {
		if status == fuse.OK {
			status = c.lab.store.rename(h.NodeId, old, to, name, flags&noReplace != 0)
		}
		r.status(status)
	})
}

// openDirectory asks for its attributes each time (close-to-open), as NFS does.
func (c *client) openDirectory(r reply, id uint64) {
	node := c.lab.store.inodes[id]
	if node == nil {
		r.status(fuse.ENOENT)
		return
	}
	c.allowed(id, r.status, func() {
		c.charge(opGetattr, c.view(id).name, func(status fuse.Status) {
			out := fuse.OpenOut{}
			if status == fuse.OK {
				out.Fh = c.open(node, false)
			}
			with(r, status, &out)
		})
	})
}

// snapshot is the directory's entries when it is read from its start.
func (s *store) snapshot(directory *inode) []fuse.DirEntry {
	entries := []fuse.DirEntry{{Name: ".", Mode: syscall.S_IFDIR, Ino: directory.id}, {Name: "..", Mode: syscall.S_IFDIR}}
	for name, node := range directory.children {
		entries = append(entries, fuse.DirEntry{Name: name, Mode: node.attr.Mode, Ino: node.id})
	}
	return entries
}

// readEntries gives the attributes too where they are asked for, as NFS's READDIR does; a stat after it costs nothing.
func (c *client) readEntries(r reply, in *fuse.ReadIn, attributes bool) {
	h := c.handles[in.Fh]
	if h == nil {
		r.status(fuse.EBADF)
		return
	}
	if in.Offset > 0 && int(in.Offset) >= len(h.entries) { // NFS says with the last entry that it is the last
		r.bytes()
		return
	}
	c.charge(opReaddir, c.view(in.NodeId).name, func(status fuse.Status) {
		if status != fuse.OK {
			r.status(status)
			return
		}
		if in.Offset == 0 || h.entries == nil {
			h.entries = c.lab.store.snapshot(h.node)
		}
		list := entryList{room: int(in.Size)}
		for number := int(in.Offset); number < len(h.entries); number++ {
			entry := h.entries[number]
			entry.Off = uint64(number + 1)
			if !list.fits(entry.Name, attributes) {
				break
			}
			var out fuse.EntryOut
			if attributes && entry.Name != "." && entry.Name != ".." {
				if node := c.lab.store.lookup(in.NodeId, entry.Name); node != nil {
					c.entry(node, &out, entry.Name)
				}
			}
			list.add(entry, &out, attributes)
		}
		r.bytes(list.bytes)
	})
}

// entryList is the reply to READDIR and READDIRPLUS: struct fuse_dirent, after a struct fuse_entry_out in the latter.
type entryList struct {
	bytes []byte
	room  int
}

type direntHeader struct {
	ino, off   uint64
	length, of uint32
}

const (
	direntBytes = int(unsafe.Sizeof(direntHeader{}))
	entryBytes  = int(unsafe.Sizeof(fuse.EntryOut{}))
)

func (l *entryList) fits(name string, attributes bool) bool {
	size := (direntBytes + len(name) + 7) &^ 7
	if attributes {
		size += entryBytes
	}
	return len(l.bytes)+size <= l.room
}

func (l *entryList) add(entry fuse.DirEntry, out *fuse.EntryOut, attributes bool) {
	if attributes {
		l.bytes = append(l.bytes, (*[entryBytes]byte)(unsafe.Pointer(out))[:]...)
	}
	ino := entry.Ino
	if ino == 0 {
		ino = fuse.FUSE_UNKNOWN_INO
	}
	head := direntHeader{ino, entry.Off, uint32(len(entry.Name)), entry.Mode & syscall.S_IFMT >> 12}
	l.bytes = append(l.bytes, (*[direntBytes]byte)(unsafe.Pointer(&head))[:]...)
	l.bytes = append(l.bytes, entry.Name...)
	l.bytes = append(l.bytes, make([]byte, (8-len(entry.Name)&7)&7)...)
}
