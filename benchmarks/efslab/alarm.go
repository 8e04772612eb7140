package main

import (
	"container/heap"
	"log"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// grain joins wake-ups that lie this close together; latencies are 20 times as long.
const grain = 50 * time.Microsecond

// alarm wakes sleepers to within tens of microseconds, where Go's own timers round to
// a millisecond: one goroutine waits on a timerfd for the earliest of them.
type alarm struct {
	mu       sync.Mutex
	sleepers sleepers
	file     *os.File
	fd       int
}

type sleeper struct {
	at   time.Time
	wake chan struct{}
}

type sleepers []sleeper

func (s sleepers) Len() int           { return len(s) }
func (s sleepers) Less(i, j int) bool { return s[i].at.Before(s[j].at) }
func (s sleepers) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *sleepers) Push(x any)        { *s = append(*s, x.(sleeper)) }
func (s *sleepers) Pop() any {
	last := len(*s) - 1
	earliest := (*s)[last]
	*s = (*s)[:last]
	return earliest
}

func newAlarm() *alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		log.Fatal("timerfd: ", err)
	}
	a := &alarm{file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}
	go a.run()
	return a
}

func (a *alarm) run() {
	expirations := make([]byte, 8)
	for {
		if _, err := a.file.Read(expirations); err != nil {
			return
		}
		a.mu.Lock()
		due := time.Now().Add(grain)
		for len(a.sleepers) > 0 && !a.sleepers[0].at.After(due) {
			close(heap.Pop(&a.sleepers).(sleeper).wake)
		}
		a.set()
		a.mu.Unlock()
	}
}

func (a *alarm) set() {
	if len(a.sleepers) == 0 {
		return
	}
	left := max(time.Until(a.sleepers[0].at), time.Microsecond)
	value := unix.ItimerSpec{Value: unix.NsecToTimespec(left.Nanoseconds())}
	if err := unix.TimerfdSettime(a.fd, 0, &value, nil); err != nil {
		log.Fatal("timerfd: ", err)
	}
}

// until returns at that time, at once if it has passed.
func (a *alarm) until(at time.Time) {
	if time.Until(at) <= 0 {
		return
	}
	wake := make(chan struct{})
	a.mu.Lock()
	heap.Push(&a.sleepers, sleeper{at, wake})
	if a.sleepers[0].wake == wake {
		a.set()
	}
	a.mu.Unlock()
	<-wake
}
