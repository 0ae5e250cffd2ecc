/* The start of a program. Since glibc 2.34 __libc_start_main() runs the program's constructors
 * itself, and the start files (crt1.o) rely on it; before, they brought a function that did, and
 * what they gave was called. Given one, the new glibc calls it, too, instead of its own.
 * Linked in by --wrap=__libc_start_main (cmake/portable.cmake). */
typedef void Constructor(int, char**, char**);
extern Constructor* __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor* __init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void);

static void run_constructors(int argc, char** argv, char** environment) {
  _init();
  for (Constructor** each = __init_array_start; each != __init_array_end; ++each) {
    (*each)(argc, argv, environment);
  }
}

typedef int Main(int, char**, char**);
int __real___libc_start_main(Main*, int, char**, Constructor*, void (*)(void), void (*)(void),
                             void*);
int __wrap___libc_start_main(Main*, int, char**, Constructor*, void (*)(void), void (*)(void),
                             void*) __attribute__((visibility("hidden")));

int __wrap___libc_start_main(Main* main, int argc, char** argv, Constructor* init,
                             void (*fini)(void), void (*loader_fini)(void), void* stack_end) {
  return __real___libc_start_main(main, argc, argv, init != 0 ? init : run_constructors, fini,
                                  loader_fini, stack_end);
}
