package main

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

// An object's bytes stand in memory: in one piece, or in the parts of its upload.
type object struct {
	parts    [][]byte
	size     int64
	etag     string
	crc      string // as S3 writes it; empty where the client gave none
	modified time.Time
	headers  map[string]string // user metadata and content headers
}

type upload struct {
	key     string
	headers map[string]string
	mutex   sync.Mutex
	parts   map[int][]byte
}

// The buckets are one map; a key is BUCKET/KEY.
type store struct {
	mutex   sync.RWMutex
	objects map[string]*object
	uploads map[string]*upload
	sorted  map[string][]string // the keys of a bucket in order, gone after a change of their set
	number  int64
}

func newStore() *store {
	return &store{objects: map[string]*object{}, uploads: map[string]*upload{}, sorted: map[string][]string{}}
}

func (s *store) get(key string) *object {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.objects[key]
}

// The ETag is not an MD5, as that of an object under SSE-KMS is not, so no client holds its bytes against it.
func (s *store) put(key string, parts [][]byte, headers map[string]string, crc string) *object {
	size := int64(0)
	for _, part := range parts {
		size += int64(len(part))
	}
	found := &object{parts: parts, size: size, crc: crc, modified: time.Now(), headers: headers}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.number++
	found.etag = fmt.Sprintf("\"%032x-1\"", s.number)
	if s.objects[key] == nil {
		delete(s.sorted, bucketOf(key))
	}
	s.objects[key] = found
	return found
}

func (s *store) removeOne(key string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.objects[key] != nil {
		delete(s.objects, key)
		delete(s.sorted, bucketOf(key))
	}
}

func (s *store) remove(prefix string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for key := range s.objects {
		if strings.HasPrefix(key, prefix) {
			delete(s.objects, key)
		}
	}
	delete(s.sorted, bucketOf(prefix))
}

func bucketOf(key string) string {
	bucket, _, _ := strings.Cut(key, "/")
	return bucket
}

// What is written to one bucket must not make a listing of another one slow: S3 sorts none.
func (s *store) keys(bucket string) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found := s.sorted[bucket]
	if found == nil {
		found = []string{}
		for key := range s.objects {
			if strings.HasPrefix(key, bucket+"/") {
				found = append(found, key)
			}
		}
		sort.Strings(found)
		s.sorted[bucket] = found
	}
	return found
}

func (s *store) begin(key string, headers map[string]string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.number++
	id := fmt.Sprintf("upload-%d", s.number)
	s.uploads[id] = &upload{key: key, headers: headers, parts: map[int][]byte{}}
	return id
}

func (s *store) upload(id string) *upload {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.uploads[id]
}

func (s *store) end(id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.uploads, id)
}

var table = crc64.MakeTable(0x9A6C9329AC4BC9B5)

func crcOf(data []byte) string {
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], crc64.Checksum(data, table))
	return base64.StdEncoding.EncodeToString(raw[:])
}

// load puts every file below a directory; the bytes stay the page cache's.
func (s *store) load(directory, prefix string) error {
	return filepath.Walk(directory, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		relative, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		data := []byte{}
		if info.Size() >= 1<<20 {
			data, err = syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED|syscall.MAP_POPULATE)
		} else {
			data, err = os.ReadFile(path)
		}
		if err != nil {
			return err
		}
		s.put(prefix+relative, [][]byte{data}, map[string]string{}, crcOf(data))
		return nil
	})
}

// save writes what a client put below a directory, to be compared.
func (s *store) save(prefix, directory string) error {
	for _, key := range s.keys(bucketOf(prefix)) {
		if !strings.HasPrefix(key, prefix) || strings.HasSuffix(key, "/") {
			continue
		}
		path := filepath.Join(directory, strings.TrimPrefix(key, prefix))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		for _, part := range s.get(key).parts {
			if _, err = file.Write(part); err != nil {
				break
			}
		}
		if closing := file.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return err
		}
	}
	return nil
}
