package main

import (
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

const rootID = fuse.FUSE_ROOT_ID

// inode is an entry of the file system.
type inode struct {
	id         uint64
	children   map[string]*inode
	references uint64 // look-ups that kernels remember

	attr   fuse.Attr
	bytes  content
	target string

	writer    *client // the last to change the bytes
	creations turn
	cap       rate
}

// store is the file system that all clients share, in memory.
type store struct {
	inodes map[uint64]*inode
	last   uint64
}

func newStore() *store {
	s := &store{inodes: map[uint64]*inode{}}
	s.add(syscall.S_IFDIR|0o755, fuse.Owner{})
	return s
}

// add makes an inode without a name.
func (s *store) add(mode uint32, owner fuse.Owner) *inode {
	s.last++
	node := &inode{id: s.last}
	node.attr = fuse.Attr{Ino: node.id, Mode: mode, Nlink: 1, Blksize: mib, Owner: owner}
	if mode&syscall.S_IFMT == syscall.S_IFDIR {
		node.children = map[string]*inode{}
		node.attr.Nlink = 2
	}
	now := time.Now()
	node.attr.SetTimes(&now, &now, &now)
	s.inodes[node.id] = node
	return node
}

// lookup finds a child and remembers that a kernel knows it.
func (s *store) lookup(parent uint64, name string) *inode {
	directory := s.inodes[parent]
	if directory == nil {
		return nil
	}
	child := directory.children[name]
	if child != nil {
		child.references++
	}
	return child
}

// make adds a new entry; it is known to a kernel from then on.
func (s *store) make(parent uint64, name string, mode uint32, owner fuse.Owner) (*inode, fuse.Status) {
	directory := s.inodes[parent]
	if directory == nil || directory.children == nil {
		return nil, fuse.ENOENT
	}
	if directory.children[name] != nil {
		return nil, fuse.Status(syscall.EEXIST)
	}
	if directory.attr.Mode&syscall.S_ISGID != 0 {
		owner.Gid = directory.attr.Gid
		if mode&syscall.S_IFMT == syscall.S_IFDIR {
			mode |= syscall.S_ISGID
		}
	}
	node := s.add(mode, owner)
	node.references++
	s.enter(directory, name, node)
	return node, fuse.OK
}

// makeOrFind is make for what may be there already: another client made it since this one looked.
func (s *store) makeOrFind(parent uint64, name string, mode uint32, owner fuse.Owner) (*inode, fuse.Status) {
	if node := s.lookup(parent, name); node != nil {
		return node, fuse.OK
	}
	return s.make(parent, name, mode, owner)
}

func (s *store) enter(directory *inode, name string, node *inode) {
	directory.children[name] = node
	if node.children != nil {
		directory.link(1)
	}
	directory.touch()
}

func (s *store) link(id, parent uint64, name string) (*inode, fuse.Status) {
	node, directory := s.inodes[id], s.inodes[parent]
	if node == nil || directory == nil {
		return nil, fuse.ENOENT
	}
	if directory.children[name] != nil {
		return nil, fuse.Status(syscall.EEXIST)
	}
	node.link(1)
	node.references++
	s.enter(directory, name, node)
	return node, fuse.OK
}

// remove takes a name away; wantDirectory tells rmdir from unlink.
func (s *store) remove(parent uint64, name string, wantDirectory bool) fuse.Status {
	directory := s.inodes[parent]
	if directory == nil || directory.children[name] == nil {
		return fuse.ENOENT
	}
	node := directory.children[name]
	if wantDirectory != (node.children != nil) {
		if wantDirectory {
			return fuse.ENOTDIR
		}
		return fuse.Status(syscall.EISDIR)
	}
	if len(node.children) > 0 {
		return fuse.Status(syscall.ENOTEMPTY)
	}
	s.drop(directory, name)
	return fuse.OK
}

func (s *store) drop(directory *inode, name string) {
	node := directory.children[name]
	delete(directory.children, name)
	directory.touch()
	if node.children != nil {
		directory.link(-1)
		node.link(-2)
	} else {
		node.link(-1)
	}
	s.bury(node)
}

func (s *store) rename(from uint64, old string, to uint64, name string, keep bool) fuse.Status {
	source, destination := s.inodes[from], s.inodes[to]
	if source == nil || destination == nil || source.children[old] == nil {
		return fuse.ENOENT
	}
	node, there := source.children[old], destination.children[name]
	if there == node {
		return fuse.OK
	}
	if there != nil {
		switch {
		case keep:
			return fuse.Status(syscall.EEXIST)
		case len(there.children) > 0:
			return fuse.Status(syscall.ENOTEMPTY)
		case there.children != nil && node.children == nil:
			return fuse.Status(syscall.EISDIR)
		case there.children == nil && node.children != nil:
			return fuse.ENOTDIR
		}
		s.drop(destination, name)
	}
	delete(source.children, old)
	if node.children != nil {
		source.link(-1)
	}
	source.touch()
	s.enter(destination, name, node)
	return fuse.OK
}

func (s *store) forget(id, times uint64) {
	if node := s.inodes[id]; node != nil {
		node.references -= min(times, node.references)
		s.bury(node)
	}
}

// bury forgets an inode that has no name and that no kernel knows.
func (s *store) bury(node *inode) {
	if node.id != rootID && node.references == 0 && node.links() == 0 {
		node.bytes.truncate(0)
		delete(s.inodes, node.id)
	}
}

func (n *inode) link(by int) {
	n.attr.Nlink = uint32(int(n.attr.Nlink) + by)
	now := time.Now()
	n.attr.SetTimes(nil, nil, &now)
}

func (n *inode) links() uint32 {
	return n.attr.Nlink
}

func (n *inode) touch() {
	now := time.Now()
	n.attr.SetTimes(nil, &now, &now)
}
