package main

import (
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

func (c *client) getattr(r reply, id uint64) {
	v := c.view(id)
	if time.Since(v.changed) < c.lab.costs.remembered {
		c.attributes(r, id, nil)
		return
	}
	c.charge(opGetattr, v.name, func(status fuse.Status) {
		if status != fuse.OK {
			r.status(status)
			return
		}
		c.attributes(r, id, nil)
	})
}

func (c *client) attributes(r reply, id uint64, change func(*inode)) {
	node := c.lab.store.inodes[id]
	if node == nil {
		r.status(fuse.ENOENT)
		return
	}
	if change != nil {
		change(node)
	}
	var out fuse.AttrOut
	node.describe(&out.Attr)
	out.SetTimeout(c.lab.costs.remembered)
	with(r, fuse.OK, &out)
}

// kernelFlush tells the times that FUSE's write-back cache sends of its own accord after writes,
// which NFS does not: no program sets mtime and ctime without atime in one call.
func kernelFlush(in *fuse.SetAttrIn) bool {
	const times = fuse.FATTR_MTIME | fuse.FATTR_CTIME
	return in.Valid&^(fuse.FATTR_FH|fuse.FATTR_LOCKOWNER) == times
}

func (c *client) setattr(r reply, in *fuse.SetAttrIn) {
	set := func() {
		c.changes(in.NodeId)
		if !kernelFlush(in) {
			c.view(in.NodeId).setattr(in)
		}
		c.attributes(r, in.NodeId, func(node *inode) { node.set(in) })
	}
	if kernelFlush(in) {
		set()
		return
	}
	c.commit(in.NodeId, func(status fuse.Status) {
		if status != fuse.OK {
			r.status(status)
			return
		}
		c.charge(opSetattr, c.view(in.NodeId).name, func(status fuse.Status) {
			if status != fuse.OK {
				r.status(status)
				return
			}
			set()
		})
	})
}

func (n *inode) set(in *fuse.SetAttrIn) {
	if mode, ok := in.GetMode(); ok {
		n.attr.Mode = n.attr.Mode&syscall.S_IFMT | mode&0o7777
	}
	if uid, ok := in.GetUID(); ok {
		n.attr.Uid = uid
	}
	if gid, ok := in.GetGID(); ok {
		n.attr.Gid = gid
	}
	now := time.Now()
	changed := &now
	if size, ok := in.GetSize(); ok && n.children == nil {
		n.bytes.truncate(int64(size))
		n.attr.SetTimes(nil, &now, nil)
	}
	if at, ok := in.GetATime(); ok {
		n.attr.SetTimes(&at, nil, nil)
	}
	if at, ok := in.GetMTime(); ok {
		n.attr.SetTimes(nil, &at, nil)
	}
	if at, ok := in.GetCTime(); ok {
		changed = &at
	}
	n.attr.SetTimes(nil, nil, changed)
}

func (c *client) openFile(r reply, in *fuse.OpenIn) {
	node := c.lab.store.inodes[in.NodeId]
	if node == nil {
		r.status(fuse.ENOENT)
		return
	}
	c.charge(opOpen, c.view(in.NodeId).name, func(status fuse.Status) {
		if status != fuse.OK {
			r.status(status)
			return
		}
		if in.Flags&syscall.O_TRUNC != 0 {
			node.bytes.truncate(0)
			node.writer = c
			c.changes(node.id)
		}
		c.view(node.id).opened()
		out := fuse.OpenOut{Fh: c.open(node, in.Flags&syscall.O_ACCMODE != syscall.O_RDONLY)}
		if node.writer == c { // as NFS, which sees that nobody else changed the file
			out.OpenFlags = fuse.FOPEN_KEEP_CACHE
		}
		with(r, fuse.OK, &out)
	})
}

func (c *client) readFile(r reply, in *fuse.ReadIn) {
	h := c.handles[in.Fh]
	if h == nil {
		r.status(fuse.EBADF)
		return
	}
	l, n := c.lab, int(in.Size)
	l.counts.operations[opRead]++
	status, delay := l.faults.check(opRead, c.view(in.NodeId).name)
	c.waits(func(now time.Time) time.Time {
		costs := l.costs
		at := now.Add(costs.latency[opRead] + perMiB(costs.readPerMiB, n))
		return later(at, c.read.reserve(now, n, costs.profile.Client), l.readRate.reserve(now, n, costs.profile.Total)).Add(delay)
	}, func() {
		if status != fuse.OK {
			r.status(status)
			return
		}
		parts, found := h.node.bytes.parts(int64(in.Offset), n)
		l.counts.bytesRead += int64(found)
		r.bytes(parts...)
	})
}

// write is a WRITE: the kernel's write-back cache holds what a program writes until close, fsync,
// a change of attributes or memory pressure, and sends up to a MiB at a time, as NFS does.
// It returns whether it keeps the bytes' memory.
func (c *client) write(r reply, in *fuse.WriteIn, data []byte) (kept bool) {
	l := c.lab
	node := l.store.inodes[in.NodeId]
	if node == nil {
		r.status(fuse.ENOENT)
		return false
	}
	l.counts.operations[opWrite]++
	v := c.view(in.NodeId)
	v.writes++
	v.write()
	v.changed = time.Now()
	n := len(data)
	status, delay := l.faults.check(opWrite, v.name)
	if status == fuse.OK {
		kept = node.bytes.write(int64(in.Offset), data)
		node.writer = c
		l.counts.bytesWrote += int64(n)
	}
	c.waits(func(now time.Time) time.Time {
		costs, profile := l.costs, l.costs.profile
		at := now.Add(costs.latency[opWrite] + perMiB(costs.writePerMiB, n))
		total := l.credits.allowed(now, n, profile)
		return later(at, node.cap.reserve(now, n, profile.File), c.written.reserve(now, n, profile.Client), l.written.reserve(now, n, total)).Add(delay)
	}, func() {
		out := fuse.WriteOut{Size: uint32(n)}
		with(r, status, &out)
	})
	return kept
}

// commit makes writes durable: a single WRITE is stable by itself, more need a COMMIT.
func (c *client) commit(id uint64, then func(fuse.Status)) {
	v := c.view(id)
	writes := v.writes
	v.writes = 0
	if writes < 2 {
		then(fuse.OK)
		return
	}
	c.charge(opCommit, v.name, then)
}

// flush is what close(2) waits for. NFSv4 sends CLOSE when the client's last writer closes; that
// of a file opened for reading takes as long as its OPEN did. FUSE flushes for each descriptor of what
// was opened once; NFS closes once.
func (c *client) flush(r reply, in *fuse.FlushIn) {
	h := c.handles[in.Fh]
	if h == nil {
		r.status(fuse.EBADF)
		return
	}
	v := c.view(in.NodeId)
	if h.closed {
		v.flush()
		c.commit(in.NodeId, r.status)
		return
	}
	if !h.writes {
		h.closed = true
		c.chargeFor(opClose, v.name, c.lab.costs.latency[opOpen], r.status)
		return
	}
	v.flush()
	c.commit(in.NodeId, func(committed fuse.Status) {
		if v.writers > 1 {
			r.status(committed)
			return
		}
		h.closed = true
		c.charge(opClose, v.name, func(status fuse.Status) {
			if status == fuse.OK {
				status = committed
			}
			r.status(status)
		})
	})
}

func (c *client) release(in *fuse.ReleaseIn) {
	if found := c.handles[in.Fh]; found != nil && found.writes {
		c.view(in.NodeId).writers--
	}
	delete(c.handles, in.Fh)
}

func perMiB(latency time.Duration, n int) time.Duration {
	return time.Duration(float64(latency) * float64(n) / mib)
}

func later(at time.Time, others ...time.Time) time.Time {
	for _, other := range others {
		if other.After(at) {
			at = other
		}
	}
	return at
}
