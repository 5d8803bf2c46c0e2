/* Starts a program with the C library (glibc) of releases before 2.34. Until then the program's own start code had the functions that run
   its constructors; now the C library runs them, and an earlier one that is given none runs none. `packaging/build.rs` lets the start code
   call this one. */
#include <stddef.h>

typedef void constructor(int, char **, char **);
extern constructor *const __init_array_start[] __attribute__((visibility("hidden")));
extern constructor *const __init_array_end[] __attribute__((visibility("hidden")));
void _init(void);

static void run_constructors(int count, char **arguments, char **environment) {
    _init();
    for (constructor *const *next = __init_array_start; next != __init_array_end; next++) (*next)(count, arguments, environment);
}

typedef int program(int, char **, char **);
int __real___libc_start_main(program *, int, char **, constructor *, void (*)(void), void (*)(void), void *);
int __wrap___libc_start_main(program *main, int count, char **arguments, constructor *none, void (*last)(void), void (*of_loader)(void),
                             void *stack) {
    (void)none;
    return __real___libc_start_main(main, count, arguments, run_constructors, last, of_loader, stack);
}
