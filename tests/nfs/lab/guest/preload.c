/* Preloaded into Linux in user mode, which keeps its processes' registers by ptrace in a buffer of fixed size. The
 * registers of processors with AMX do not fit: here they are read and written whole, without those of AMX. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define STATES 512         /* where the area says which states it holds */
#define WITHOUT_AMX 0x2ffUL /* from x87 to PKRU */

static char whole[65536] __attribute__((aligned(64)));
static size_t size;

static long get_whole(pid_t pid) {
    struct iovec area = {whole, sizeof whole};
    long answer = syscall(SYS_ptrace, PTRACE_GETREGSET, pid, NT_X86_XSTATE, &area);
    if (answer >= 0)
        size = area.iov_len;
    return answer;
}

static long get(pid_t pid, struct iovec *theirs) {
    long answer = get_whole(pid);
    if (answer < 0)
        return answer;
    if (theirs->iov_len > size)
        theirs->iov_len = size;
    memcpy(theirs->iov_base, whole, theirs->iov_len);
    return answer;
}

static long set(pid_t pid, const struct iovec *theirs) {
    if (size == 0 && get_whole(pid) < 0)
        return -1;
    size_t given = theirs->iov_len < size ? theirs->iov_len : size;
    memcpy(whole, theirs->iov_base, given);
    memset(whole + given, 0, size - given);
    *(unsigned long *)(whole + STATES) &= WITHOUT_AMX;
    struct iovec area = {whole, size};
    return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, NT_X86_XSTATE, &area);
}

long ptrace(enum __ptrace_request request, ...) {
    va_list list;
    va_start(list, request);
    pid_t pid = va_arg(list, pid_t);
    long address = va_arg(list, long), data = va_arg(list, long);
    va_end(list);
    switch (request) {
    case PTRACE_PEEKTEXT:
    case PTRACE_PEEKDATA:
    case PTRACE_PEEKUSER: { /* the C library returns the word, the kernel writes it */
        long word, answer = syscall(SYS_ptrace, request, pid, address, &word);
        if (answer < 0)
            return answer;
        errno = 0;
        return word;
    }
    case PTRACE_GETREGSET:
        if (address == NT_X86_XSTATE)
            return get(pid, (struct iovec *)data);
        break;
    case PTRACE_SETREGSET:
        if (address == NT_X86_XSTATE)
            return set(pid, (const struct iovec *)data);
        break;
    default:
        break;
    }
    return syscall(SYS_ptrace, request, pid, address, data);
}
