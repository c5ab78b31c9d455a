// jemalloc's settings. jemalloc replaces the C library's malloc, which takes a quarter of an
// aggregator's CPU time. The C library also never returns memory below a small block that is still
// in use.

// jemalloc reads its settings from this name (its manual, "TUNING").
extern "C" const char* const malloc_conf =
    // Arenas are shared by threads. With one arena for each of an agent's twenty threads, memory
    // freed by one thread would be unavailable to the others.
    "narenas:2,"
    // Unused pages are returned within seconds, even without further allocations, by threads of
    // jemalloc.
    "background_thread:true,dirty_decay_ms:2000,muzzy_decay_ms:0";
