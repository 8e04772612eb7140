package main

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// paidFor is how long a look-up that found nothing may lie before the creation that it belongs to.
const paidFor = 100 * time.Millisecond

// lab is one file system with its costs; its clients share it. The loop's lock guards all of it.
type lab struct {
	loop     *loop
	costs    *costs
	counts   counters
	faults   faults
	store    *store
	credits  credits
	written  rate
	readRate rate
}

func newLab(profile *Profile) *lab {
	return &lab{loop: &loop{}, store: newStore(), costs: costsOf(profile)}
}

// client is one mount: an NFS client with its own slots, caps and view of what it wrote.
type client struct {
	lab           *lab
	slots         *slots
	written, read rate
	files         map[uint64]*view
	handles       map[uint64]*handle
	lastHandle    uint64
	missed        missed
}

func newClient(l *lab) *client {
	return &client{
		lab: l, slots: newSlots(l.costs.profile.Slots, &l.counts),
		files: map[uint64]*view{}, handles: map[uint64]*handle{}, missed: missed{},
	}
}

// view is what a client knows of a file: NFS replies to its own changes carry fresh attributes.
type view struct {
	name    string
	changed time.Time
	writers int
	writes  int // WRITEs since the last COMMIT
	rights
}

// rights is what a client knows of what it may do with an inode: of a directory once it asked, of a file since it
// opened it. Linux's client doubts it where owner or mode are set, or attributes while it holds bytes of the file.
type rights struct {
	known    bool
	unsent   bool // it holds bytes that no flush sent
	attrsSet bool // since the file was opened
}

func (r *rights) opened() { *r = rights{known: true} }
func (r *rights) flush()  { r.unsent = false }

func (r *rights) write() {
	r.unsent = true
	r.known = r.known && !r.attrsSet
}

func (r *rights) setattr(in *fuse.SetAttrIn) {
	r.attrsSet = true
	r.known = r.known && !r.unsent && in.Valid&(fuse.FATTR_MODE|fuse.FATTR_UID|fuse.FATTR_GID) == 0
}

type handle struct {
	node    *inode
	writes  bool
	closed  bool // CLOSE was charged
	entries []fuse.DirEntry
}

func (c *client) view(id uint64) *view {
	found := c.files[id]
	if found == nil {
		found = &view{}
		c.files[id] = found
	}
	return found
}

// changes notes that this client changes an inode now.
func (c *client) changes(id uint64) { c.view(id).changed = time.Now() }

func (c *client) open(node *inode, writes bool) uint64 {
	if writes {
		c.view(node.id).writers++
	}
	c.lastHandle++
	c.handles[c.lastHandle] = &handle{node: node, writes: writes}
	return c.lastHandle
}

// waits takes a slot from now until due tells, then calls then.
func (c *client) waits(due func(now time.Time) time.Time, then func()) {
	c.slots.enter(func() {
		c.lab.loop.at(due(time.Now().Add(-tick/2)), func() {
			c.slots.leave()
			then()
		})
	})
}

// charge counts an operation and takes as long as it does; then gets its status.
func (c *client) charge(operation kind, name string, then func(fuse.Status)) {
	c.chargeFor(operation, name, c.lab.costs.latency[operation], then)
}

func (c *client) chargeFor(operation kind, name string, latency time.Duration, then func(fuse.Status)) {
	c.lab.counts.operations[operation]++
	status, delay := c.lab.faults.check(operation, name)
	if latency+delay <= 0 {
		then(status)
		return
	}
	c.waits(func(now time.Time) time.Time { return now.Add(latency + delay) }, func() { then(status) })
}

// allowed asks ACCESS where the client does not know what it may do with an inode; then it goes on, or says what failed.
func (c *client) allowed(id uint64, failed func(fuse.Status), then func()) {
	v := c.view(id)
	if v.known {
		then()
		return
	}
	c.charge(opAccess, v.name, func(status fuse.Status) {
		if status != fuse.OK {
			failed(status)
			return
		}
		v.known = true
		then()
	})
}

// chargeCreation charges what makes a name in a directory. It waits its turn there. FUSE looks the
// name up first, NFS does not: a look-up that found nothing is not counted and its time is taken off.
func (c *client) chargeCreation(operation kind, pid uint32, parent uint64, name string, then func(fuse.Status)) {
	c.allowed(parent, then, func() {
		latency := c.lab.costs.latency[operation]
		var paid time.Duration
		if c.missed.take(missedKey{parent, name, pid}) {
			paid = c.lab.costs.latency[opLookup]
			c.lab.counts.operations[opLookup]--
		}
		c.changes(parent)
		c.lab.counts.operations[operation]++
		status, delay := c.lab.faults.check(operation, name)
		directory := c.lab.store.inodes[parent]
		if latency+delay <= 0 || directory == nil {
			then(status)
			return
		}
		c.waits(func(now time.Time) time.Time {
			return directory.creations.take(now.Add(-paid), latency).Add(delay)
		}, func() { then(status) })
	})
}

type missedKey struct {
	parent uint64
	name   string
	pid    uint32
}

// missed holds look-ups that found nothing, until the creation that they belong to.
type missed map[missedKey]time.Time

func (m missed) add(key missedKey) {
	if len(m) > 10_000 {
		clear(m)
	}
	m[key] = time.Now()
}

func (m missed) take(key missedKey) bool {
	at, found := m[key]
	delete(m, key)
	return found && time.Since(at) < paidFor
}
