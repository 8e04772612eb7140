package main

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// remembered is how long a kernel keeps names and attributes, as NFS does by default (acregmin, acdirmin up).
const remembered = 3 * time.Second

// paidFor is how long a look-up that found nothing may lie before the creation that it belongs to.
const paidFor = 100 * time.Millisecond

// lab is one file system with its costs; its clients share it.
type lab struct {
	costs    atomic.Pointer[costs]
	counts   counters
	faults   faults
	store    *store
	alarm    *alarm
	credits  credits
	written  rate
	readRate rate
}

func newLab(profile *Profile) *lab {
	l := &lab{store: newStore(), alarm: newAlarm()}
	l.costs.Store(costsOf(profile))
	return l
}

// client is one mount: an NFS client with its own slots, caps and view of what it wrote.
type client struct {
	fuse.RawFileSystem
	lab           *lab
	slots         *slots
	written, read rate
	files         sync.Map // inode number -> *view
	handles       sync.Map // handle -> *handle
	lastHandle    atomic.Uint64
	missed        missed
}

func newClient(l *lab) *client {
	return &client{
		RawFileSystem: fuse.NewDefaultRawFileSystem(),
		lab:           l,
		slots:         newSlots(l.costs.Load().profile.Slots, &l.counts),
	}
}

// view is what a client knows of a file: NFS replies to its own changes carry fresh attributes.
type view struct {
	mu      sync.Mutex
	name    string
	changed time.Time
	writers int
	writes  int // WRITEs since the last COMMIT
}

type handle struct {
	node    *inode
	writes  bool
	entries []fuse.DirEntry
}

func (c *client) view(id uint64) *view {
	if found, ok := c.files.Load(id); ok {
		return found.(*view)
	}
	found, _ := c.files.LoadOrStore(id, &view{})
	return found.(*view)
}

func (c *client) nameOf(id uint64) string {
	v := c.view(id)
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.name
}

// changes notes that this client changes an inode now.
func (c *client) changes(id uint64) {
	v := c.view(id)
	v.mu.Lock()
	v.changed = time.Now()
	v.mu.Unlock()
}

func (c *client) open(node *inode, writes bool) uint64 {
	if writes {
		v := c.view(node.id)
		v.mu.Lock()
		v.writers++
		v.mu.Unlock()
	}
	number := c.lastHandle.Add(1)
	c.handles.Store(number, &handle{node: node, writes: writes})
	return number
}

func (c *client) handle(number uint64) *handle {
	if found, ok := c.handles.Load(number); ok {
		return found.(*handle)
	}
	return nil
}

// charge counts an operation and takes as long as it does.
func (c *client) charge(operation kind, name string) fuse.Status {
	return c.chargeFor(operation, name, c.lab.costs.Load().latency[operation])
}

func (c *client) chargeFor(operation kind, name string, latency time.Duration) fuse.Status {
	c.lab.counts.operations[operation].Add(1)
	status, delay := c.lab.faults.check(operation, name)
	if latency+delay > 0 {
		c.slots.enter()
		c.lab.alarm.until(time.Now().Add(latency + delay))
		c.slots.leave()
	}
	return status
}

// chargeCreation charges what makes a name in a directory. It waits its turn there. FUSE looks the
// name up first, NFS does not: a look-up that found nothing is not counted and its time is taken off.
func (c *client) chargeCreation(operation kind, h *fuse.InHeader, parent uint64, name string) fuse.Status {
	costs := c.lab.costs.Load()
	var paid time.Duration
	if c.missed.take(missedKey{parent, name, h.Pid}) {
		paid = costs.latency[opLookup]
		c.lab.counts.operations[opLookup].Add(-1)
	}
	c.changes(parent)
	c.lab.counts.operations[operation].Add(1)
	status, delay := c.lab.faults.check(operation, name)
	directory := c.lab.store.get(parent)
	if latency := costs.latency[operation]; latency+delay > 0 && directory != nil {
		c.slots.enter()
		c.lab.alarm.until(directory.creations.take(time.Now().Add(-paid), latency).Add(delay))
		c.slots.leave()
	}
	return status
}

type missedKey struct {
	parent uint64
	name   string
	pid    uint32
}

// missed holds look-ups that found nothing, until the creation that they belong to.
type missed struct {
	mu    sync.Mutex
	times map[missedKey]time.Time
}

func (m *missed) add(key missedKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.times == nil || len(m.times) > 10_000 {
		m.times = map[missedKey]time.Time{}
	}
	m.times[key] = time.Now()
}

func (m *missed) take(key missedKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, found := m.times[key]
	delete(m.times, key)
	return found && time.Since(at) < paidFor
}
