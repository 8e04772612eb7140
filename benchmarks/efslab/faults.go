package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

var errnos = map[string]syscall.Errno{
	"EIO": syscall.EIO, "ESTALE": syscall.ESTALE, "ENOSPC": syscall.ENOSPC, "EDQUOT": syscall.EDQUOT,
	"EACCES": syscall.EACCES, "EPERM": syscall.EPERM, "EROFS": syscall.EROFS, "EAGAIN": syscall.EAGAIN,
	"ETIMEDOUT": syscall.ETIMEDOUT,
}

// fault makes operations fail or wait. Operation is a kind's name or "*"; Name a regular
// expression on the entry's name. The first Skip matches pass, then Count are hit (0: all),
// each with Probability (0: always).
type fault struct {
	Operation    string  `json:"operation"`
	Name         string  `json:"name"`
	Errno        string  `json:"errno"`
	DelayMs      float64 `json:"delay_ms"`
	Probability  float64 `json:"probability"`
	Skip         int64   `json:"skip"`
	Count        int64   `json:"count"`
	pattern      *regexp.Regexp
	matched, hit int64
}

func (f *fault) compile() (err error) {
	if _, known := kindByName[f.Operation]; !known && f.Operation != "*" {
		return fmt.Errorf("operation: none is called %q", f.Operation)
	}
	if _, known := errnos[f.Errno]; !known && f.Errno != "" {
		return fmt.Errorf("errno: %q is not one of those that can be set", f.Errno)
	}
	f.pattern, err = regexp.Compile(f.Name)
	return err
}

func (f *fault) hits(operation kind, name string) bool {
	if f.Operation != "*" && f.Operation != kindNames[operation] || !f.pattern.MatchString(name) {
		return false
	}
	f.matched++
	if f.matched <= f.Skip || f.Probability > 0 && rand.Float64() >= f.Probability {
		return false
	}
	f.hit++
	return f.Count == 0 || f.hit <= f.Count
}

type faults struct {
	rules []*fault
}

func (f *faults) set(rules []*fault) error {
	for _, rule := range rules {
		if err := rule.compile(); err != nil {
			return err
		}
	}
	f.rules = rules
	return nil
}

// check is what the rules do to an operation: its status, and how much longer it takes.
func (f *faults) check(operation kind, name string) (fuse.Status, time.Duration) {
	var delay time.Duration
	for _, rule := range f.rules {
		if rule.hits(operation, name) {
			delay += milliseconds(rule.DelayMs)
			if rule.Errno != "" {
				return fuse.Status(errnos[rule.Errno]), delay
			}
		}
	}
	return fuse.OK, delay
}
