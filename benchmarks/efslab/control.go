package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
)

// serveControl answers on a Unix socket:
//
//	GET  /counters  operations by kind, bytes, most in flight, credits left
//	POST /reset     counters to zero
//	GET  /profile   the profile; POST merges fields into it, or ?name= loads another
//	POST /faults    replaces the rules by a JSON list
func serveControl(path string, l *lab) error {
	os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /counters", func(w http.ResponseWriter, _ *http.Request) {
		l.loop.mu.Lock()
		found := l.counts.snapshot()
		found["credit_bytes"] = l.credits.left()
		l.loop.mu.Unlock()
		answer(w, found)
	})
	routes.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		l.loop.mu.Lock()
		l.counts = counters{}
		l.loop.mu.Unlock()
	})
	routes.HandleFunc("GET /profile", func(w http.ResponseWriter, _ *http.Request) {
		l.loop.mu.Lock()
		profile := l.costs.profile.copy()
		l.loop.mu.Unlock()
		answer(w, profile)
	})
	routes.HandleFunc("POST /profile", l.changeProfile)
	routes.HandleFunc("POST /faults", func(w http.ResponseWriter, r *http.Request) {
		var rules []*fault
		if err := json.NewDecoder(r.Body).Decode(&rules); err != nil {
			refuse(w, err)
		} else if err := l.setFaults(rules); err != nil {
			refuse(w, err)
		}
	})
	go http.Serve(listener, routes)
	return nil
}

func (l *lab) setFaults(rules []*fault) error {
	l.loop.mu.Lock()
	defer l.loop.mu.Unlock()
	return l.faults.set(rules)
}

func (l *lab) changeProfile(w http.ResponseWriter, r *http.Request) {
	l.loop.mu.Lock()
	defer l.loop.mu.Unlock()
	profile := l.costs.profile.copy()
	if name := r.URL.Query().Get("name"); name != "" {
		found, err := loadProfile(name)
		if err != nil {
			refuse(w, err)
			return
		}
		profile = found
	}
	document, err := io.ReadAll(r.Body)
	if err == nil && len(document) > 0 {
		err = profile.merge(document)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	l.costs = costsOf(profile)
	answer(w, profile)
}

func answer(w http.ResponseWriter, value any) { json.NewEncoder(w).Encode(value) }

func refuse(w http.ResponseWriter, err error) { http.Error(w, err.Error(), http.StatusBadRequest) }
