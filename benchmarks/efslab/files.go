package main

import (
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

func (c *client) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	v := c.view(in.NodeId)
	v.mu.Lock()
	known, name := time.Since(v.changed) < remembered, v.name
	v.mu.Unlock()
	if !known {
		if status := c.charge(opGetattr, name); status != fuse.OK {
			return status
		}
	}
	return c.attributes(in.NodeId, out, nil)
}

func (c *client) attributes(id uint64, out *fuse.AttrOut, change func(*inode)) fuse.Status {
	node := c.lab.store.get(id)
	if node == nil {
		return fuse.ENOENT
	}
	node.mu.Lock()
	if change != nil {
		change(node)
	}
	node.describe(&out.Attr)
	node.mu.Unlock()
	out.SetTimeout(remembered)
	return fuse.OK
}

// kernelFlush tells the times that FUSE's write-back cache sends of its own accord after writes,
// which NFS does not: no program sets mtime and ctime without atime in one call.
func kernelFlush(in *fuse.SetAttrIn) bool {
	const times = fuse.FATTR_MTIME | fuse.FATTR_CTIME
	return in.Valid&^(fuse.FATTR_FH|fuse.FATTR_LOCKOWNER) == times
}

func (c *client) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	if !kernelFlush(in) {
		if status := c.commit(in.NodeId); status != fuse.OK {
			return status
		}
		if status := c.charge(opSetattr, c.nameOf(in.NodeId)); status != fuse.OK {
			return status
		}
	}
	c.changes(in.NodeId)
	return c.attributes(in.NodeId, out, func(node *inode) { node.set(in) })
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

func (c *client) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	node := c.lab.store.get(in.NodeId)
	if node == nil {
		return fuse.ENOENT
	}
	if status := c.charge(opOpen, c.nameOf(in.NodeId)); status != fuse.OK {
		return status
	}
	if in.Flags&syscall.O_TRUNC != 0 {
		node.mu.Lock()
		node.bytes.truncate(0)
		node.mu.Unlock()
		c.changes(node.id)
	}
	out.Fh = c.open(node, in.Flags&syscall.O_ACCMODE != syscall.O_RDONLY)
	return fuse.OK
}

func (c *client) Read(_ <-chan struct{}, in *fuse.ReadIn, into []byte) (fuse.ReadResult, fuse.Status) {
	h := c.handle(in.Fh)
	if h == nil {
		return nil, fuse.EBADF
	}
	costs := c.lab.costs.Load()
	c.lab.counts.operations[opRead].Add(1)
	status, delay := c.lab.faults.check(opRead, c.nameOf(in.NodeId))
	n := int(in.Size)
	c.slots.enter()
	now := time.Now()
	at := now.Add(costs.latency[opRead] + perMiB(costs.readPerMiB, n))
	at = later(at, c.read.reserve(now, n, costs.profile.Client), c.lab.readRate.reserve(now, n, costs.profile.Total))
	c.lab.alarm.until(at.Add(delay))
	c.slots.leave()
	if status != fuse.OK {
		return nil, status
	}
	h.node.mu.Lock()
	n = h.node.bytes.read(int64(in.Offset), into[:n])
	h.node.mu.Unlock()
	c.lab.counts.bytesRead.Add(int64(n))
	return fuse.ReadResultData(into[:n]), fuse.OK
}

// Write is a WRITE: the kernel's write-back cache holds what a program writes until close, fsync,
// a change of attributes or memory pressure, and sends up to a MiB at a time, as NFS does.
func (c *client) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	node := c.lab.store.get(in.NodeId)
	if node == nil {
		return 0, fuse.ENOENT
	}
	costs := c.lab.costs.Load()
	c.lab.counts.operations[opWrite].Add(1)
	v := c.view(in.NodeId)
	v.mu.Lock()
	v.writes++
	v.changed = time.Now()
	name := v.name
	v.mu.Unlock()
	status, delay := c.lab.faults.check(opWrite, name)
	n, profile := len(data), costs.profile
	c.slots.enter()
	now := time.Now()
	at := now.Add(costs.latency[opWrite] + perMiB(costs.writePerMiB, n))
	total := c.lab.credits.allowed(now, n, profile)
	at = later(at, node.cap.reserve(now, n, profile.File), c.written.reserve(now, n, profile.Client), c.lab.written.reserve(now, n, total))
	if status == fuse.OK {
		node.mu.Lock()
		node.bytes.write(int64(in.Offset), data)
		node.mu.Unlock()
		c.lab.counts.bytesWrote.Add(int64(n))
	}
	c.lab.alarm.until(at.Add(delay))
	c.slots.leave()
	return uint32(n), status
}

// commit makes writes durable: a single WRITE is stable by itself, more need a COMMIT.
func (c *client) commit(id uint64) fuse.Status {
	v := c.view(id)
	v.mu.Lock()
	writes, name := v.writes, v.name
	v.writes = 0
	v.mu.Unlock()
	if writes < 2 {
		return fuse.OK
	}
	return c.charge(opCommit, name)
}

// Flush is what close(2) waits for. NFSv4 sends CLOSE when the client's last writer closes; that
// of a file opened for reading takes as long as its OPEN did.
func (c *client) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	h := c.handle(in.Fh)
	if h == nil {
		return fuse.EBADF
	}
	costs := c.lab.costs.Load()
	if !h.writes {
		return c.chargeFor(opClose, c.nameOf(in.NodeId), costs.latency[opOpen])
	}
	committed := c.commit(in.NodeId)
	v := c.view(in.NodeId)
	v.mu.Lock()
	others, name := v.writers > 1, v.name
	v.mu.Unlock()
	if others {
		return committed
	}
	if status := c.charge(opClose, name); status != fuse.OK {
		return status
	}
	return committed
}

func (c *client) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	if found, ok := c.handles.LoadAndDelete(in.Fh); ok && found.(*handle).writes {
		v := c.view(in.NodeId)
		v.mu.Lock()
		v.writers--
		v.mu.Unlock()
	}
}

func (c *client) ReleaseDir(in *fuse.ReleaseIn) { c.handles.Delete(in.Fh) }

func (c *client) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status { return c.commit(in.NodeId) }

// FsyncDir has nothing to do: NFS's operations on directories are synchronous.
func (c *client) FsyncDir(_ <-chan struct{}, _ *fuse.FsyncIn) fuse.Status { return fuse.OK }

// Fallocate is not in NFSv4.1.
func (c *client) Fallocate(_ <-chan struct{}, _ *fuse.FallocateIn) fuse.Status {
	return fuse.Status(syscall.EOPNOTSUPP)
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
