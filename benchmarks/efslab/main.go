// efslab is a simulated Amazon EFS: one file system in memory, mounted by FUSE at several places
// that stand for several NFSv4.1 clients. Every operation takes the time, and every byte passes
// the caps, of a calibration.
//
//	efslab -profile modern -control /run/lab.sock /mnt/client1 [/mnt/client2 ...]
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	log.SetFlags(0)
	name := flag.String("profile", "modern", "a calibration (legacy, modern, held, far, none) or a JSON file")
	set := flag.String("set", "", `JSON merged into the profile, e.g. {"client_mib_per_second": 250}`)
	control := flag.String("control", "", "Unix socket that answers /counters, /reset, /profile and /faults")
	memory := flag.String("memory", "", "file on tmpfs that holds files' bytes and stays for the next run; without it the heap does")
	memoryMiB := flag.Int64("memory-mib", 1024, "its size; what does not fit goes to the heap")
	flag.Parse()
	profile, err := loadProfile(*name)
	if err == nil && *set != "" {
		err = profile.merge([]byte(*set))
	}
	if err != nil {
		log.Fatal(err)
	}
	if *memory != "" {
		if err := pieces.open(*memory, *memoryMiB*mib); err != nil {
			log.Fatal(err)
		}
	}
	// The heap is small, the files' bytes lie outside of it: collecting seldom costs little memory.
	debug.SetGCPercent(400)
	l := newLab(profile)
	for _, directory := range flag.Args() {
		c, err := mount(directory, newClient(l))
		if err != nil {
			log.Fatalf("mount %s: %v", directory, err)
		}
		l.loop.conns = append(l.loop.conns, c)
	}
	go l.loop.run()
	for _, directory := range flag.Args() {
		liftDirtyLimit(directory)
	}
	if *control != "" {
		if err := serveControl(*control, l); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("ready")
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
	for _, directory := range flag.Args() {
		if err := unix.Unmount(directory, 0); err != nil {
			log.Printf("unmount %s: %v", directory, err)
		}
	}
}

// liftDirtyLimit takes back the one percent of memory that FUSE may have dirty, which NFS has not. Needs root.
func liftDirtyLimit(directory string) {
	var found unix.Stat_t
	if unix.Stat(directory, &found) != nil {
		return
	}
	device := fmt.Sprintf("/sys/class/bdi/%d:%d/", unix.Major(found.Dev), unix.Minor(found.Dev))
	for name, value := range map[string]string{"strict_limit": "0", "max_ratio": "100"} {
		if err := os.WriteFile(device+name, []byte(value), 0); err != nil && !os.IsNotExist(err) {
			log.Printf("%s%s: %v (large writes are throttled early)", device, name, err)
		}
	}
}
