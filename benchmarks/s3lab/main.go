// s3lab answers as much of S3 as s5cmd, rclone, the AWS CLI and fanout ask of it, from memory, at little CPU.
//
// It is there so that a benchmark of clients is not one of a server: it looks at no signature and checks no
// checksum. Below /.lab/ it loads and saves trees (POST load, save, remove) and tells its CPU time (GET cpu).
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address; its port is printed")
	authority := flag.String("tls", "", "speak TLS, and write the certificate of its authority to this file")
	firstByte := flag.Int("first-byte-ms", 0, "milliseconds that S3's requests wait before they are answered")
	flag.Parse()
	debug.SetGCPercent(400)
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *authority != "" {
		if listener, err = secured(listener, *authority); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	service := &service{store: newStore(), firstByte: time.Duration(*firstByte) * time.Millisecond}
	if err := http.Serve(listener, service); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type service struct {
	store     *store
	firstByte time.Duration
}

// ServeHTTP tells control requests from S3's.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/.lab/") {
		s.control(w, r)
		return
	}
	if s.firstByte > 0 {
		time.Sleep(s.firstByte)
	}
	key := strings.TrimPrefix(r.URL.Path, "/")
	bucket, name, _ := strings.Cut(key, "/")
	query := r.URL.RawQuery
	switch {
	case name == "" && r.Method == "GET":
		s.bucket(w, r, bucket)
	case name == "" && r.Method == "POST":
		s.deleteMany(w, r, bucket)
	case name == "":
		w.WriteHeader(http.StatusOK) // every bucket exists
	case r.Method == "GET" || r.Method == "HEAD":
		s.get(w, r, key)
	case r.Method == "PUT" && strings.Contains(query, "uploadId="):
		s.putPart(w, r)
	case r.Method == "PUT":
		s.put(w, r, key)
	case r.Method == "POST" && strings.Contains(query, "uploads"):
		s.begin(w, r, bucket, name)
	case r.Method == "POST":
		s.complete(w, r)
	case r.Method == "DELETE" && strings.Contains(query, "uploadId="):
		s.store.end(r.URL.Query().Get("uploadId"))
		w.WriteHeader(http.StatusNoContent)
	case r.Method == "DELETE":
		s.store.removeOne(key)
		w.WriteHeader(http.StatusNoContent)
	default:
		fail(w, http.StatusNotImplemented, "NotImplemented")
	}
}

func (s *service) control(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	var err error
	switch strings.TrimPrefix(r.URL.Path, "/.lab/") {
	case "load":
		err = s.store.load(query.Get("directory"), query.Get("prefix"))
	case "save":
		err = s.store.save(query.Get("prefix"), query.Get("directory"))
	case "remove":
		s.store.remove(query.Get("prefix"))
		debug.FreeOSMemory()
	case "cpu":
		var usage syscall.Rusage
		if err = syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err == nil {
			spent := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
			fmt.Fprintf(w, "%.6f", spent.Seconds())
		}
	default:
		err = fmt.Errorf("no such request: %s", r.URL.Path)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
