package main

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

func (c *client) entry(node *inode, out *fuse.EntryOut, name string) {
	v := c.view(node.id)
	v.mu.Lock()
	v.name = name
	v.mu.Unlock()
	node.mu.Lock()
	node.describe(&out.Attr)
	node.mu.Unlock()
	out.NodeId, out.Generation = node.id, 1
	out.SetEntryTimeout(remembered)
	out.SetAttrTimeout(remembered)
}

// describe fills in the attributes; the caller holds the inode's lock.
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

func (c *client) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if status := c.charge(opLookup, name); status != fuse.OK {
		return status
	}
	node := c.lab.store.lookup(h.NodeId, name)
	if node == nil {
		c.missed.add(missedKey{h.NodeId, name, h.Pid})
		return fuse.ENOENT
	}
	c.entry(node, out, name)
	return fuse.OK
}

func (c *client) Forget(id, times uint64) {
	c.files.Delete(id)
	c.lab.store.forget(id, times)
}

// make charges a creation and makes the entry.
func (c *client) make(operation kind, h *fuse.InHeader, name string, mode uint32, out *fuse.EntryOut) (*inode, fuse.Status) {
	if status := c.chargeCreation(operation, h, h.NodeId, name); status != fuse.OK {
		return nil, status
	}
	node, status := c.lab.store.make(h.NodeId, name, mode, h.Caller.Owner)
	if status == fuse.OK {
		c.changes(node.id)
		c.entry(node, out, name)
	}
	return node, status
}

func (c *client) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	_, status := c.make(opMkdir, &in.InHeader, name, syscall.S_IFDIR|in.Mode&0o7777, out)
	return status
}

func (c *client) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	node, status := c.make(opCreate, &in.InHeader, name, in.Mode, out)
	if status == fuse.OK {
		node.attr.Rdev = in.Rdev
	}
	return status
}

func (c *client) Symlink(_ <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	node, status := c.make(opSymlink, h, name, syscall.S_IFLNK|0o777, out)
	if status == fuse.OK {
		node.mu.Lock()
		node.target = target
		node.describe(&out.Attr)
		node.mu.Unlock()
	}
	return status
}

func (c *client) Readlink(_ <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	if status := c.charge(opRead, c.nameOf(h.NodeId)); status != fuse.OK {
		return nil, status
	}
	node := c.lab.store.get(h.NodeId)
	if node == nil {
		return nil, fuse.ENOENT
	}
	return []byte(node.target), fuse.OK
}

// Create of O_EXCL pays a SETATTR more, as Linux's NFSv4.1 client does: the verifier of an exclusive
// create takes the place of the times.
func (c *client) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	node, status := c.make(opCreate, &in.InHeader, name, syscall.S_IFREG|in.Mode&0o7777, &out.EntryOut)
	if status != fuse.OK {
		return status
	}
	if in.Flags&syscall.O_EXCL != 0 {
		status = c.charge(opSetattr, name)
	}
	out.Fh = c.open(node, in.Flags&syscall.O_ACCMODE != syscall.O_RDONLY)
	return status
}

func (c *client) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	if status := c.chargeCreation(opLink, &in.InHeader, in.NodeId, name); status != fuse.OK {
		return status
	}
	node, status := c.lab.store.link(in.Oldnodeid, in.NodeId, name)
	if status == fuse.OK {
		c.entry(node, out, name)
	}
	return status
}

func (c *client) Unlink(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	c.changes(h.NodeId)
	if status := c.charge(opUnlink, name); status != fuse.OK {
		return status
	}
	return c.lab.store.remove(h.NodeId, name, false)
}

func (c *client) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	c.changes(h.NodeId)
	if status := c.charge(opRmdir, name); status != fuse.OK {
		return status
	}
	return c.lab.store.remove(h.NodeId, name, true)
}

func (c *client) Rename(_ <-chan struct{}, in *fuse.RenameIn, old, name string) fuse.Status {
	const noReplace = 1
	if in.Flags&^noReplace != 0 {
		return fuse.EINVAL
	}
	c.changes(in.NodeId)
	if status := c.chargeCreation(opRename, &in.InHeader, in.Newdir, name); status != fuse.OK {
		return status
	}
	return c.lab.store.rename(in.NodeId, old, in.Newdir, name, in.Flags&noReplace != 0)
}

func (c *client) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	node := c.lab.store.get(in.NodeId)
	if node == nil {
		return fuse.ENOENT
	}
	out.Fh = c.open(node, false)
	return fuse.OK
}

// snapshot is the directory's entries when it is read from its start.
func (s *store) snapshot(directory *inode) []fuse.DirEntry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	entries := []fuse.DirEntry{{Name: ".", Mode: syscall.S_IFDIR, Ino: directory.id}, {Name: "..", Mode: syscall.S_IFDIR}}
	for name, node := range directory.children {
		entries = append(entries, fuse.DirEntry{Name: name, Mode: node.attr.Mode, Ino: node.id})
	}
	return entries
}

func (c *client) readEntries(in *fuse.ReadIn, add func(fuse.DirEntry) bool) fuse.Status {
	h := c.handle(in.Fh)
	if h == nil {
		return fuse.EBADF
	}
	if status := c.charge(opReaddir, c.nameOf(in.NodeId)); status != fuse.OK {
		return status
	}
	if in.Offset == 0 || h.entries == nil {
		h.entries = c.lab.store.snapshot(h.node)
	}
	for number := int(in.Offset); number < len(h.entries); number++ {
		entry := h.entries[number]
		entry.Off = uint64(number + 1)
		if !add(entry) {
			break
		}
	}
	return fuse.OK
}

func (c *client) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return c.readEntries(in, out.AddDirEntry)
}

// ReadDirPlus gives the attributes too, as NFS's READDIR does; a stat after it costs nothing.
func (c *client) ReadDirPlus(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return c.readEntries(in, func(entry fuse.DirEntry) bool {
		slot := out.AddDirLookupEntry(entry)
		if slot == nil {
			return false
		}
		if entry.Name != "." && entry.Name != ".." {
			if node := c.lab.store.lookup(in.NodeId, entry.Name); node != nil {
				c.entry(node, slot, entry.Name)
			}
		}
		return true
	})
}

func (c *client) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	const blocks = 1 << 40 / 4096
	*out = fuse.StatfsOut{Blocks: blocks, Bfree: blocks, Bavail: blocks, Bsize: 4096, Frsize: 4096, NameLen: 255, Files: blocks, Ffree: blocks}
	return fuse.OK
}
