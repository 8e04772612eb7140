package main

import (
	"log"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// tick is how often the loop looks for requests and for what is due while anything is in flight.
	// One wake-up for many requests costs the machine much less than one for each; what is seen up to
	// a tick late is begun half a tick early, and ends up to half a tick early or late.
	tick = 150 * time.Microsecond
	// turnRequests are read of one client before others have their turn.
	turnRequests = 16
	// slack is how much later than asked for the kernel may wake the loop.
	slack = 1000 // ns
	// idle is how long the loop sleeps at most.
	idle = time.Second
)

// loop does everything that kernels ask for in one thread: it reads requests, and what has to take
// time lies in a heap until it is due. A thread or goroutine a request would cost more processor
// time than the file systems that are compared.
type loop struct {
	mu     sync.Mutex // held while the state of the file system is looked at or changed
	conns  []*conn
	timers timers
}

// at calls then at that time; at once if it has passed. The caller holds the lock, then has it too.
func (l *loop) at(due time.Time, then func()) {
	if time.Until(due) <= 0 {
		then()
		return
	}
	l.timers.push(timer{due, then})
}

// run serves the clients until all of them are unmounted.
func (l *loop) run() {
	runtime.LockOSThread()
	beforeOthers()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, slack, 0, 0, 0); err != nil {
		log.Print("timer slack: ", err)
	}
	for len(l.conns) > 0 {
		l.mu.Lock()
		for l.turn() {
		}
		inFlight := len(l.timers) > 0
		l.mu.Unlock()
		if inFlight {
			limit := unix.NsecToTimespec(tick.Nanoseconds())
			unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&limit)), 0, 0)
			continue
		}
		files := make([]unix.PollFd, len(l.conns))
		for number, c := range l.conns {
			files[number] = unix.PollFd{Fd: int32(c.fd), Events: unix.POLLIN}
		}
		limit := unix.NsecToTimespec(idle.Nanoseconds())
		if _, err := unix.Ppoll(files, &limit, nil); err != nil && err != syscall.EINTR {
			log.Fatal("poll: ", err)
		}
	}
}

// beforeOthers lets the loop's thread run as soon as there is something to do: a server is another
// machine, which does not wait for the processor of the tool that is measured. Needs root.
func beforeOthers() {
	const fifo = 1
	priority := struct{ value int32 }{10}
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, fifo, uintptr(unsafe.Pointer(&priority)))
	if errno != 0 {
		log.Print("real-time priority: ", errno, " (latencies grow where the machine is busy)")
	}
}

// turn does what is due and reads some requests; whether there was any.
func (l *loop) turn() bool {
	busy := false
	for due := time.Now().Add(tick / 2); len(l.timers) > 0 && !l.timers[0].at.After(due); busy = true {
		l.timers.pop().then()
	}
	for number := 0; number < len(l.conns); number++ {
		c := l.conns[number]
		for range turnRequests {
			found, open := c.serve()
			if !open {
				l.conns = append(l.conns[:number:number], l.conns[number+1:]...)
				return true
			}
			if !found {
				break
			}
			busy = true
		}
	}
	return busy
}

type timer struct {
	at   time.Time
	then func()
}

// timers is a heap, the earliest first.
type timers []timer

func (t *timers) push(one timer) {
	heap := append(*t, one)
	child := len(heap) - 1
	for child > 0 {
		parent := (child - 1) / 2
		if !heap[child].at.Before(heap[parent].at) {
			break
		}
		heap[child], heap[parent] = heap[parent], heap[child]
		child = parent
	}
	*t = heap
}

func (t *timers) pop() timer {
	heap := *t
	first, last := heap[0], len(heap)-1
	heap[0] = heap[last]
	heap[last] = timer{}
	heap = heap[:last]
	for parent := 0; ; {
		child := 2*parent + 1
		if child >= last {
			break
		}
		if child+1 < last && heap[child+1].at.Before(heap[child].at) {
			child++
		}
		if !heap[child].at.Before(heap[parent].at) {
			break
		}
		heap[child], heap[parent] = heap[parent], heap[child]
		parent = child
	}
	*t = heap
	return first
}
