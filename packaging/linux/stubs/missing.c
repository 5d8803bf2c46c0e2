/* What this system's headers, compiler and archives take from the C library (glibc), and releases from 2.17 on may lack. `build` compiles
   it; each symbol is hidden, so that the program has it for itself.  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

/* 2.32: true lets the C++ library count references without locks. */
char __libc_single_threaded = 0;

/* 2.33: earlier headers replaced these by functions with the version of the structure, which is the one of the kernel. */
struct stat;
#ifdef __x86_64__
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif
int __xstat(int, const char *, struct stat *);
int __lxstat(int, const char *, struct stat *);
int __fxstat(int, int, struct stat *);
int __fxstatat(int, int, const char *, struct stat *, int);
int stat(const char *path, struct stat *found) { return __xstat(STAT_VERSION, path, found); }
int lstat(const char *path, struct stat *found) { return __lxstat(STAT_VERSION, path, found); }
int fstat(int file, struct stat *found) { return __fxstat(STAT_VERSION, file, found); }
int fstatat(int folder, const char *path, struct stat *found, int flags) {
    return __fxstatat(STAT_VERSION, folder, path, found, flags);
}
int stat64(const char *, struct stat *) __attribute__((alias("stat")));
int lstat64(const char *, struct stat *) __attribute__((alias("lstat")));
int fstat64(int, struct stat *) __attribute__((alias("fstat")));
int fstatat64(int, const char *, struct stat *, int) __attribute__((alias("fstatat")));

#if __GLIBC_PREREQ(2, 35)
/* The unwinder asks for the table of the object that has an address. */
struct wanted {
    ElfW(Addr) address;
    struct dl_find_object *answer;
};

static int compare(struct dl_phdr_info *object, size_t size, void *data) {
    struct wanted *wanted = data;
    ElfW(Addr) table = 0;
    int holds = 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        ElfW(Addr) start = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_EH_FRAME) table = start;
        if (part->p_type != PT_LOAD || wanted->address < start || wanted->address - start >= part->p_memsz) continue;
        holds = 1;
        wanted->answer->dlfo_map_start = (void *)start;
        wanted->answer->dlfo_map_end = (void *)(start + part->p_memsz);
    }
    wanted->answer->dlfo_eh_frame = (void *)table;
    return holds;
}

int _dl_find_object(void *address, struct dl_find_object *answer) {
    struct wanted wanted = {(ElfW(Addr))address, answer};
    *answer = (struct dl_find_object){0};
    return dl_iterate_phdr(compare, &wanted) == 1 ? 0 : -1;
}
#endif

/* 2.36: random numbers, for the C++ library. */
unsigned arc4random(void) {
    unsigned number;
    while (getentropy(&number, sizeof number) != 0) {}
    return number;
}

/* Archives of distributions, which are compiled for programs, find these relative to themselves, so a module needs its own. */
#undef stdout
#undef stderr
extern struct _IO_FILE_plus _IO_2_1_stdout_, _IO_2_1_stderr_;
FILE *stdout = (FILE *)&_IO_2_1_stdout_;
FILE *stderr = (FILE *)&_IO_2_1_stderr_;
