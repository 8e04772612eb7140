package main

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strconv"
	"strings"
)

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}

func (s *service) get(w http.ResponseWriter, r *http.Request, key string) {
	found := s.store.get(key)
	if found == nil {
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	if wanted := r.Header.Get("If-Match"); wanted != "" && wanted != found.etag {
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	headers := w.Header()
	for name, value := range found.headers {
		headers[name] = []string{value}
	}
	headers["Etag"] = []string{found.etag}
	headers["Last-Modified"] = []string{found.modified.UTC().Format(http.TimeFormat)}
	headers["Accept-Ranges"] = []string{"bytes"}
	first, end := int64(0), found.size
	status := http.StatusOK
	if text := r.Header.Get("Range"); text != "" {
		if first, end = rangeOf(text, found.size); first >= end {
			fail(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
			return
		}
		headers["Content-Range"] = []string{fmt.Sprintf("bytes %d-%d/%d", first, end-1, found.size)}
		status = http.StatusPartialContent
	} else if found.crc != "" && r.Header.Get("X-Amz-Checksum-Mode") != "" {
		headers["X-Amz-Checksum-Crc64nvme"] = []string{found.crc}
		headers["X-Amz-Checksum-Type"] = []string{"FULL_OBJECT"}
	}
	headers["Content-Length"] = []string{strconv.FormatInt(end-first, 10)}
	w.WriteHeader(status)
	if r.Method == "HEAD" {
		return
	}
	for _, part := range found.parts {
		length := int64(len(part))
		if first < length && end > 0 {
			if _, err := w.Write(part[max(first, 0):min(end, length)]); err != nil {
				return
			}
		}
		first, end = first-length, end-length
	}
}

// rangeOf is the first byte and the one after the last of "bytes=A-B" or "bytes=A-".
func rangeOf(text string, size int64) (int64, int64) {
	head, tail, _ := strings.Cut(strings.TrimPrefix(text, "bytes="), "-")
	first, err := strconv.ParseInt(head, 10, 64)
	if err != nil {
		return 0, size
	}
	last, err := strconv.ParseInt(tail, 10, 64)
	if err != nil || last >= size {
		last = size - 1
	}
	return first, last + 1
}

// body reads what was sent, decoded where the client frames it in chunks of its own.
func body(r *http.Request) ([]byte, error) {
	defer r.Body.Close()
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		data := make([]byte, max(r.ContentLength, 0))
		_, err := io.ReadFull(r.Body, data)
		return data, err
	}
	length, err := strconv.Atoi(r.Header.Get("X-Amz-Decoded-Content-Length"))
	if err != nil {
		return nil, err
	}
	data, at := make([]byte, length), 0
	reader := bufio.NewReaderSize(r.Body, 256<<10)
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return nil, err
		}
		text, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		size, err := strconv.ParseInt(text, 16, 64)
		if err != nil || at+int(size) > length {
			return nil, fmt.Errorf("chunk %q", line)
		}
		if size == 0 {
			_, err = io.Copy(io.Discard, reader)
			return data, err
		}
		if _, err = io.ReadFull(reader, data[at:at+int(size)]); err != nil {
			return nil, err
		}
		at += int(size)
		if _, err = reader.Discard(2); err != nil {
			return nil, err
		}
	}
}

func keptHeaders(r *http.Request) map[string]string {
	kept := map[string]string{}
	for name, values := range r.Header {
		if name == "Content-Type" || strings.HasPrefix(name, "X-Amz-Meta-") {
			kept[name] = values[0]
		}
	}
	return kept
}

func (s *service) put(w http.ResponseWriter, r *http.Request, key string) {
	data, err := body(r)
	if err != nil {
		fail(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	stored := s.store.put(key, [][]byte{data}, keptHeaders(r), r.Header.Get("X-Amz-Checksum-Crc64nvme"))
	w.Header()["Etag"] = []string{stored.etag}
}

func (s *service) putPart(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	number, err := strconv.Atoi(query.Get("partNumber"))
	into := s.store.upload(query.Get("uploadId"))
	if into == nil || err != nil {
		fail(w, http.StatusNotFound, "NoSuchUpload")
		return
	}
	data, err := body(r)
	if err != nil {
		fail(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	into.mutex.Lock()
	into.parts[number] = data
	into.mutex.Unlock()
	w.Header()["Etag"] = []string{fmt.Sprintf("\"%032x\"", number)}
}

func (s *service) begin(w http.ResponseWriter, r *http.Request, bucket, name string) {
	id := s.store.begin(bucket+"/"+name, keptHeaders(r))
	text := "<InitiateMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><UploadId>%s</UploadId></InitiateMultipartUploadResult>"
	fmt.Fprintf(w, text, bucket, escaped(name), id)
}

func (s *service) complete(w http.ResponseWriter, r *http.Request) {
	if _, err := body(r); err != nil {
		fail(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	id := r.URL.Query().Get("uploadId")
	into := s.store.upload(id)
	if into == nil {
		fail(w, http.StatusNotFound, "NoSuchUpload")
		return
	}
	numbers := make([]int, 0, len(into.parts))
	for number := range into.parts {
		numbers = append(numbers, number)
	}
	sort.Ints(numbers)
	parts := make([][]byte, 0, len(numbers))
	for _, number := range numbers {
		parts = append(parts, into.parts[number])
	}
	stored := s.store.put(into.key, parts, into.headers, r.Header.Get("X-Amz-Checksum-Crc64nvme"))
	s.store.end(id)
	fmt.Fprintf(w, "<CompleteMultipartUploadResult><ETag>%s</ETag></CompleteMultipartUploadResult>", escaped(stored.etag))
}

func (s *service) bucket(w http.ResponseWriter, r *http.Request, bucket string) {
	query := r.URL.Query()
	if query.Has("location") {
		fmt.Fprint(w, "<LocationConstraint></LocationConstraint>")
		return
	}
	most := 1000
	if given, err := strconv.Atoi(query.Get("max-keys")); err == nil {
		most = min(given, most)
	}
	encode := escaped
	if query.Get("encoding-type") == "url" {
		encode = url.QueryEscape
	}
	root := bucket + "/"
	prefix := root + query.Get("prefix")
	after := root + max(query.Get("start-after"), query.Get("continuation-token"), query.Get("marker"))
	delimiter := query.Get("delimiter")
	keys := s.store.keys(bucket)
	at := sort.SearchStrings(keys, max(prefix, after))
	var rows, prefixes strings.Builder
	count, last, seen := 0, "", ""
	for ; at < len(keys) && strings.HasPrefix(keys[at], prefix) && count < most; at++ {
		key := keys[at]
		if key <= after {
			continue
		}
		if delimiter != "" {
			if head, _, deeper := strings.Cut(key[len(prefix):], delimiter); deeper {
				common := prefix + head + delimiter
				if common != seen && common > after {
					fmt.Fprintf(&prefixes, "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>", encode(common[len(root):]))
					count++
				}
				seen, last = common, key
				continue
			}
		}
		found := s.store.get(key)
		if found == nil {
			continue
		}
		text := "<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>%s</ETag><Size>%d</Size><StorageClass>STANDARD</StorageClass></Contents>"
		modified := found.modified.UTC().Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(&rows, text, encode(key[len(root):]), modified, escaped(found.etag), found.size)
		count++
		last = key
	}
	more := at < len(keys) && strings.HasPrefix(keys[at], prefix)
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprintf(w, "<ListBucketResult><Name>%s</Name><Prefix>%s</Prefix><KeyCount>%d</KeyCount>", bucket, encode(query.Get("prefix")), count)
	fmt.Fprintf(w, "<MaxKeys>%d</MaxKeys><IsTruncated>%t</IsTruncated>", most, more)
	if query.Get("encoding-type") == "url" {
		fmt.Fprint(w, "<EncodingType>url</EncodingType>")
	}
	if more {
		token := escaped(last[len(root):])
		fmt.Fprintf(w, "<NextContinuationToken>%s</NextContinuationToken><NextMarker>%s</NextMarker>", token, token)
	}
	io.WriteString(w, rows.String())
	io.WriteString(w, prefixes.String())
	io.WriteString(w, "</ListBucketResult>")
}

func (s *service) deleteMany(w http.ResponseWriter, r *http.Request, bucket string) {
	var asked struct {
		Object []struct{ Key string }
	}
	data, err := body(r)
	if err == nil {
		err = xml.Unmarshal(data, &asked)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "MalformedXML")
		return
	}
	for _, one := range asked.Object {
		s.store.removeOne(bucket + "/" + one.Key)
	}
	fmt.Fprint(w, "<DeleteResult></DeleteResult>")
}

func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text))
	return out.String()
}
